package dev.verbena.s3;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import dev.verbena.s3.server.Gate;
import dev.verbena.s3.server.Operation;
import dev.verbena.s3.server.Profile;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import software.amazon.awssdk.core.sync.RequestBody;
import software.amazon.awssdk.services.s3.S3Client;

/** The number of attempts at a time. */
class WindowTest {
  private static final int CALLS = 200;

  private static List<Window.Place> fill(Window window) {
    List<Window.Place> places = new ArrayList<>();
    for (Window.Place place = window.enter(); place != null; place = window.enter()) {
      places.add(place);
    }
    return places;
  }

  @Test
  void itWidensWithSuccessAndIsNarrowAfterADecline() {
    Window window = new Window();
    List<Window.Place> places = fill(window);
    assertEquals(16, places.size());
    places.getFirst().leave();
    places.getFirst().leave(); // It is left once.
    assertNotNull(window.enter());
    assertNull(window.enter());
    for (int i = 0; i < 100; i++) {
      window.widen();
    }
    assertEquals(16, fill(window).size());
    window.narrow();
    places.forEach(Window.Place::leave);
    assertNull(window.enter(), "17 are in use");
  }

  @Test
  void afterADeclineOneGoesAlone() {
    Window window = new Window();
    window.narrow();
    assertEquals(1, fill(window).size());
    window.widen();
    assertEquals(1, fill(window).size());
  }

  @Test
  void afterADeclineOneCallGoesAlone() throws Exception {
    try (Rig rig = new Rig(Profile.DECLINES_BY_ERROR);
        ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
      AtomicLong nanos = new AtomicLong();
      Pause.use(() -> nanos.addAndGet(400_000_000_000L)); // Each has ended.
      S3Client client = rig.client();
      RequestBody body = RequestBody.fromBytes(Rig.random(1 << 18));
      client.putObject(b -> b.bucket(Rig.BUCKET).key("declined"), body);
      rig.server.profile(Profile.SPEC);
      Gate gate = rig.server.faults().holdBeforeTransfer(1);
      Future<?> first =
          threads.submit(() -> client.putObject(b -> b.bucket(Rig.BUCKET).key("first"), body));
      gate.awaitRequest();
      client.putObject(b -> b.bucket(Rig.BUCKET).key("second"), body);
      assertEquals(1, rig.counter(S3Counter.NO_BUFFER), "the second goes by HTTP");
      gate.open();
      first.get();
      assertEquals(1, rig.counter(S3Counter.PUT));
    } finally {
      Pause.use(System::nanoTime);
    }
  }

  /** The retry quota of the client suffices. */
  @Test
  void aServerThatDeclinesAllFailsNoCall() throws Exception {
    try (Rig rig = new Rig(Profile.DECLINES_BY_ERROR);
        ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
      AtomicLong nanos = new AtomicLong();
      Pause.use(() -> nanos.addAndGet(400_000_000_000L)); // Each has ended.
      S3Client client = rig.client();
      byte[] data = Rig.random(1 << 18);
      List<Future<?>> calls = new ArrayList<>();
      for (int i = 0; i < CALLS; i++) {
        String key = "k" + i;
        calls.add(
            threads.submit(
                () ->
                    client.putObject(
                        b -> b.bucket(Rig.BUCKET).key(key), RequestBody.fromBytes(data))));
      }
      for (Future<?> call : calls) {
        call.get();
      }
      for (int i = 0; i < CALLS; i++) {
        assertArrayEquals(data, rig.stored("k" + i));
      }
      assertEquals(
          CALLS + rig.counter(S3Counter.DECLINED_BY_SERVER),
          rig.server.counters().requests(Operation.PUT_OBJECT));
    } finally {
      Pause.use(System::nanoTime);
    }
  }
}
