package dev.verbena.s3;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.s3.server.Fault;
import dev.verbena.s3.server.Gate;
import dev.verbena.s3.server.Operation;
import dev.verbena.s3.server.Profile;
import java.io.InputStream;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.reactivestreams.Subscriber;
import org.reactivestreams.Subscription;
import software.amazon.awssdk.core.ResponseInputStream;
import software.amazon.awssdk.core.async.AsyncResponseTransformer;
import software.amazon.awssdk.core.exception.RetryableException;
import software.amazon.awssdk.services.s3.S3Client;
import software.amazon.awssdk.services.s3.model.GetObjectResponse;

/** Registered memory: used again, bounded, given back, and never used by two. */
@Timeout(300)
class ResourcesTest {
  private static final int SIZE = 1 << 20;
  private static final byte[] DATA = Rig.random(SIZE);
  private static final String RANGE = "bytes=0-" + (SIZE - 1);

  private final AtomicLong nanos = new AtomicLong();
  private Rig rig;

  @BeforeEach
  void open() throws Exception {
    rig = new Rig(Profile.SPEC);
    rig.settings.put("maxBytes", "1m");
    rig.settings.put("poolBytes", "4m");
    Pause.use(nanos::get);
    Program.store(rig, DATA);
  }

  @AfterEach
  void close() {
    Pause.use(System::nanoTime);
    rig.close();
  }

  private long inUse() {
    return rig.used().bytes() - rig.used().freeBytes();
  }

  private void awaitUnused() throws InterruptedException {
    Until.holds(
        "the memory is given back",
        () -> {
          System.gc();
          return inUse() == 0;
        });
  }

  private ResponseInputStream<GetObjectResponse> opened() {
    return rig.client().getObject(Program.get(RANGE).build());
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void nothingIsRegisteredInSteadyState(boolean isAsync) {
    Program program = Program.of(rig, isAsync);
    for (int i = 0; i < 50; i++) {
      program.put(DATA);
      program.read(RANGE);
    }
    assertEquals(2, rig.counter(S3Counter.REGISTRATIONS));
    assertEquals(2 * SIZE, rig.used().freeBytes());
    assertEquals(2 * SIZE, rig.used().bytes());
    assertEquals(100, rig.counter(S3Counter.PUT) + rig.counter(S3Counter.GET));
    assertEquals(0, rig.counter(S3Counter.DISCARDED));
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void theMemoryIsBounded(boolean isAsync) throws Exception {
    Program program = Program.of(rig, isAsync);
    program.put(DATA); // Room is made for the others.
    Gate gate = rig.server.faults().holdBeforeTransfer(1000);
    List<FutureTask<byte[]>> reads = new ArrayList<>();
    for (int i = 0; i < 64; i++) {
      FutureTask<byte[]> read = new FutureTask<>(() -> program.read(RANGE));
      reads.add(read);
      Thread.ofVirtual().start(read);
    }
    Until.holds("all have begun", () -> Program.requests(rig, Operation.GET_OBJECT) == 64);
    assertEquals(4, Program.tokens(rig, Operation.GET_OBJECT));
    assertEquals(4 * SIZE, rig.used().bytes());
    assertEquals(4 * SIZE, inUse());
    assertEquals(60, rig.counter(S3Counter.NO_BUFFER));
    gate.open();
    for (FutureTask<byte[]> read : reads) {
      assertArrayEquals(DATA, read.get());
    }
    awaitUnused();
    assertEquals(4, rig.counter(S3Counter.GET));
    assertEquals(0, rig.counter(S3Counter.REPEATED));
  }

  // Streams

  @Test
  void streamsGiveTheMemoryBack() throws Exception {
    try (var stream = opened()) {
      assertEquals(SIZE, inUse());
      assertArrayEquals(Arrays.copyOf(DATA, 1000), stream.readNBytes(1000));
    }
    assertEquals(0, inUse());
    opened().abort();
    assertEquals(0, inUse(), "after abort");
    try (var stream = opened()) {
      stream.abort();
    }
    assertEquals(0, inUse(), "after abort and close");
    assertEquals(1, rig.counter(S3Counter.REGISTRATIONS));
  }

  @Test
  void closedStreamsCannotBeRead() throws Exception {
    var stream = opened();
    stream.close();
    try (var other = opened()) { // It has the memory now.
      assertThrows(java.io.IOException.class, stream::read);
      assertArrayEquals(DATA, other.readAllBytes());
    }
  }

  @Test
  void forgottenStreamsGiveTheMemoryBack() throws Exception {
    for (int i = 0; i < 4; i++) {
      assertEquals(DATA[0] & 0xff, opened().read());
    }
    awaitUnused();
  }

  @Test
  void responsesOfTheAsyncClientGiveTheMemoryBack() throws Exception {
    var client = rig.asyncClient();
    try (InputStream stream =
        client
            .getObject(Program.get(RANGE).build(), AsyncResponseTransformer.toBlockingInputStream())
            .join()) {
      assertArrayEquals(Arrays.copyOf(DATA, 1000), stream.readNBytes(1000));
    }
    awaitUnused();
    client
        .getObject(Program.get(RANGE).build(), AsyncResponseTransformer.toPublisher())
        .join()
        .subscribe(new Canceling());
    Until.holds("the memory is given back without GC", () -> inUse() == 0);
    assertEquals(0, rig.counter(S3Counter.DISCARDED));
  }

  /** Reads one buffer. */
  private static final class Canceling implements Subscriber<ByteBuffer> {
    private Subscription subscription;

    @Override
    public void onSubscribe(Subscription s) {
      subscription = s;
      s.request(1);
    }

    @Override
    public void onNext(ByteBuffer buffer) {
      subscription.cancel();
    }

    @Override
    public void onError(Throwable cause) {
      throw new AssertionError(cause);
    }

    @Override
    public void onComplete() {
      throw new AssertionError();
    }
  }

  @Test
  void failingTransformersGiveTheMemoryBack() throws Exception {
    S3Client client = rig.client();
    assertThrows(
        RuntimeException.class,
        () ->
            client.getObject(
                Program.get(RANGE).build(),
                (response, body) -> {
                  throw new IllegalStateException("wanted");
                }));
    awaitUnused();
    AtomicLong calls = new AtomicLong();
    byte[] read =
        client.getObject(
            Program.get(RANGE).build(),
            (response, body) -> {
              if (calls.getAndIncrement() == 0) {
                body.readNBytes(1000);
                throw RetryableException.create("wanted");
              }
              return body.readAllBytes();
            });
    assertArrayEquals(DATA, read);
    assertEquals(3, Program.requests(rig, Operation.GET_OBJECT));
    awaitUnused();
  }

  // Segments

  @Test
  void segmentsAreClosed() {
    S3Client client = rig.client();
    S3Segment data = client.getObject(Program.get(RANGE).build(), S3Rdma.toSegment());
    assertTrue(data.isByRdma());
    MemorySegment segment = data.segment();
    assertTrue(segment.isReadOnly());
    assertArrayEquals(DATA, segment.toArray(ValueLayout.JAVA_BYTE));
    assertEquals(SIZE, inUse());
    data.close();
    data.close();
    assertEquals(0, inUse());
    assertThrows(IllegalStateException.class, () -> segment.get(ValueLayout.JAVA_BYTE, 0));
    assertThrows(IllegalStateException.class, () -> data.segment().get(ValueLayout.JAVA_BYTE, 0));
    rig.server.profile(Profile.IGNORANT);
    try (S3Segment http = client.getObject(Program.get(RANGE).build(), S3Rdma.toSegment())) {
      assertFalse(http.isByRdma());
      assertArrayEquals(DATA, http.segment().toArray(ValueLayout.JAVA_BYTE));
    }
    assertEquals(0, inUse());
  }

  /** A program refers to the memory only. */
  @Test
  void segmentsInUseAreNotGivenBack() throws Exception {
    S3Client client = rig.client();
    MemorySegment segment =
        client.getObject(Program.get(RANGE).build(), S3Rdma.toSegment()).segment();
    client.getObject(Program.get(RANGE).build()).read(); // Forgotten, to notice the GC.
    Until.holds(
        "the other memory is given back",
        () -> {
          System.gc();
          return inUse() <= SIZE;
        });
    for (int i = 0; i < 5; i++) {
      System.gc();
      Program.of(rig, false).put(DATA);
    }
    byte[] other = Rig.random(SIZE + 1);
    Program.store(rig, Arrays.copyOf(other, SIZE));
    for (int i = 0; i < 4; i++) {
      client.getObjectAsBytes(Program.get(RANGE).build());
    }
    assertArrayEquals(DATA, segment.toArray(ValueLayout.JAVA_BYTE));
    assertEquals(SIZE, inUse());
    segment = null;
    awaitUnused();
  }

  // Buffers

  private S3Buffer buffer() {
    S3Buffer buffer = S3Rdma.allocate(SIZE);
    MemorySegment.copy(DATA, 0, buffer.segment(), ValueLayout.JAVA_BYTE, 0, SIZE);
    return buffer;
  }

  private int regions() {
    return rig.network.openObjects().getOrDefault("memory region", 0);
  }

  @Test
  void buffersAreStoredWithoutACopy() {
    S3Client client = rig.client();
    int others = regions();
    try (S3Buffer buffer = buffer()) {
      for (int i = 0; i < 3; i++) {
        client.putObject(buffer.in(Program.put().build()), buffer.body());
        assertArrayEquals(DATA, rig.stored(Program.KEY));
      }
      assertEquals(3, rig.counter(S3Counter.PUT));
      assertEquals(1, rig.counter(S3Counter.REGISTRATIONS));
      assertEquals(1, regions() - others);
    }
    assertEquals(others, regions());
    assertEquals(0, rig.used().bytes(), "it is not of the pool");
  }

  @Test
  void closedBuffersCannotBeUsed() {
    S3Buffer buffer = buffer();
    MemorySegment segment = buffer.segment();
    buffer.close();
    buffer.close();
    assertThrows(
        IllegalStateException.class, () -> segment.set(ValueLayout.JAVA_BYTE, 0, (byte) 0));
    S3Client client = rig.client();
    assertThrows(
        RuntimeException.class,
        () -> client.putObject(buffer.in(Program.put().build()), buffer.body()));
    assertSame(DATA, rig.stored(Program.KEY));
    assertEquals(List.of(), Program.tokens(rig));
    assertEquals(0, rig.counter(S3Counter.DECLINED_BY_DEVICE));
    assertEquals(0, inUse());
  }

  @Test
  void aBufferIsUsedByTwoCalls() throws Exception {
    S3Client client = rig.client();
    S3Buffer buffer = buffer();
    Gate gate = rig.server.faults().holdBeforeTransfer(1);
    FutureTask<Object> first =
        new FutureTask<>(
            () -> client.putObject(buffer.in(Program.put().key("first").build()), buffer.body()));
    Thread.ofPlatform().start(first);
    gate.awaitRequest();
    client.putObject(buffer.in(Program.put().key("second").build()), buffer.body());
    assertArrayEquals(DATA, rig.stored("second"));
    assertEquals(2, Program.tokens(rig).size());
    assertThrows(IllegalStateException.class, buffer::close);
    gate.open();
    first.get();
    assertArrayEquals(DATA, rig.stored("first"));
    buffer.close();
    assertEquals(0, inUse());
  }

  @Test
  void aServerDoesNotReachTheBufferOfACallThatFailed() {
    S3Client client = rig.client();
    S3Buffer buffer = buffer();
    MemorySegment segment = buffer.segment();
    rig.server.faults().next(1, Fault.DROP_AFTER_TRANSFER);
    client.putObject(buffer.in(Program.put().build()), buffer.body());
    assertArrayEquals(DATA, rig.stored(Program.KEY));
    assertEquals(2, Program.requests(rig, Operation.PUT_OBJECT));
    assertArrayEquals(DATA, segment.toArray(ValueLayout.JAVA_BYTE));
    assertEquals(
        dev.verbena.values.CompletionStatus.REM_ACCESS_ERR,
        rig.server.lateRead(Program.tokens(rig).getFirst()));
    buffer.close();
    assertEquals(0, rig.used().bytes());
  }

  @Test
  void buffersThatAreInUseAreClosedLater() throws Exception {
    S3Buffer buffer = buffer();
    MemorySegment segment = buffer.segment();
    ByteBuffer memory = segment.asByteBuffer();
    var pipe = java.nio.channels.Pipe.open();
    var copying = new FutureTask<>(() -> pipe.sink().write(memory));
    Thread.ofPlatform().start(copying);
    assertEquals(1, pipe.source().read(ByteBuffer.allocate(1))); // The rest does not fit.
    assertThrows(IllegalStateException.class, buffer::close);
    ByteBuffer rest = ByteBuffer.allocate(SIZE - 1);
    while (rest.hasRemaining()) {
      pipe.source().read(rest);
    }
    assertEquals(SIZE, copying.get());
    buffer.close();
    assertFalse(segment.scope().isAlive());
    pipe.source().close();
    pipe.sink().close();
  }
}
