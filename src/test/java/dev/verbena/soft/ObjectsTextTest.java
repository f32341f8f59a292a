package dev.verbena.soft;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.internal.life.Core;
import dev.verbena.testing.Background;
import dev.verbena.values.MemoryWindowType;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.DeviceMemory;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.MemoryWindow;
import dev.verbena.verbs.RemoteMemory;
import dev.verbena.verbs.Resource;
import dev.verbena.verbs.SendList;
import dev.verbena.verbs.SharedReceiveQueue;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** The strings of objects say which one it is, and whether it is closed; so do messages. */
@Tag("host")
class ObjectsTextTest {
  private static final String HEX = "0x\\p{XDigit}+";

  private static void assertText(String pattern, Object object) {
    String text = object.toString();
    assertTrue(text.matches(pattern), text);
  }

  private static void assertMessage(
      Class<? extends Throwable> type, Executable call, String pattern) {
    String message = assertThrows(type, call).getMessage();
    assertTrue(message.matches(pattern), message);
  }

  @Test
  void openObjectsAndClosedOnes() {
    try (SoftPair pair = SoftPair.connected()) {
      Context context = pair.a.context;
      Map<Resource, String> texts = new LinkedHashMap<>();
      texts.put(context, "context of soft0");
      texts.put(pair.a.domain, "protection domain \\d+ of soft0");
      texts.put(pair.a.completions, "completion queue \\d+ of soft0 \\(64 entries\\)");
      texts.put(
          pair.a.queuePair,
          "queue pair " + HEX + " of soft0 \\(RC, RTS, 16 send and 16 receive requests\\)");
      texts.put(
          pair.a.region,
          "memory region " + HEX + " of soft0 \\(65536 bytes at " + HEX + ", rkey " + HEX + "\\)");
      texts.put(context.createCompletionChannel(), "completion channel \\d+ of soft0");
      texts.put(
          SharedReceiveQueue.create(pair.a.domain, 4),
          "shared receive queue \\d+ of soft0 \\(BASIC\\)");
      texts.put(
          MemoryWindow.allocate(pair.a.domain, MemoryWindowType.TYPE_1),
          "memory window \\d+ of soft0 \\(TYPE_1, rkey " + HEX + "\\)");
      texts.put(DeviceMemory.allocate(context, 64), "device memory \\d+ of soft0 \\(64 bytes\\)");
      texts.forEach((object, text) -> assertText(text, object));
      context.close();
      texts.forEach(
          (object, text) ->
              assertText(
                  text.contains("(") && object instanceof MemoryRegion
                      ? text.replace("\\)", ", closed\\)")
                      : ".*[(, ]closed\\)",
                  object));
      assertText("completion queue \\d+ of soft0 \\(closed\\)", pair.a.completions);
      assertText(
          "queue pair " + HEX + " of soft0 \\(RC, 16 send and 16 receive requests, closed\\)",
          pair.a.queuePair);
    }
  }

  @Test
  void anObjectThatAThreadKeepsOpenHasAString() throws Exception {
    try (SoftPair pair = SoftPair.connected()) {
      Core core = Core.of(pair.a.queuePair);
      String open = pair.a.queuePair.toString();
      core.hold();
      try {
        assertEquals(open, Background.inBackground(pair.a.queuePair::toString).get());
      } finally {
        core.endHold();
      }
    }
  }

  /** A device holds the lock of its network while it delivers completions. */
  @Test
  void aNetworkWhoseLockIsHeldHasAString() throws Exception {
    SoftNetwork network = SoftNetwork.create();
    network.addDevice("soft0");
    String open = "software network of [soft0]";
    assertEquals(
        open,
        network.engine.locked(
            () -> {
              try {
                return Background.inBackground(network::toString).get();
              } catch (InterruptedException | ExecutionException e) {
                throw new AssertionError(e);
              }
            }));
    network.close();
    assertText(".* \\(closed\\)", network);
  }

  @Test
  void aRangeOutsideNamesTheRegion() {
    try (SoftPair pair = SoftPair.connected()) {
      MemoryRegion region = pair.a.region;
      String outside = "500 bytes at offset 65200 are not inside ";
      SendList list = new SendList(1, 1);
      list.send(0);
      assertMessage(
          IndexOutOfBoundsException.class,
          () -> list.local(0, region, 65_200, 500),
          outside + "memory region " + HEX + " of soft0 \\(65536 bytes at .*, rkey " + HEX + "\\)");
      RemoteMemory remote = RemoteMemory.of(region);
      assertMessage(
          IndexOutOfBoundsException.class,
          () -> remote.addressOf(65_200, 500),
          outside + "remote memory of 65536 bytes at " + HEX + ", rkey " + HEX);
      DeviceMemory memory = DeviceMemory.allocate(pair.a.context, 64);
      assertMessage(
          IndexOutOfBoundsException.class,
          () -> memory.register(pair.a.domain, 64, 8),
          "8 bytes at offset 64 are not inside device memory \\d+ of soft0 \\(64 bytes\\)");
      for (long[] range :
          new long[][] {{-1, 8}, {8, -1}, {1, Long.MAX_VALUE}, {Long.MAX_VALUE, 1}}) {
        assertMessage(
            IndexOutOfBoundsException.class,
            () -> remote.addressOf(range[0], range[1]),
            range[1] + " bytes at offset " + range[0] + " are not inside remote .*");
      }
      assertEquals(region.start() + 65_536, remote.addressOf(65_536, 0));
    }
  }

  @Test
  void aClosedObjectIsNamedOnce() {
    try (SoftPair pair = SoftPair.connected()) {
      SendList list = new SendList(1, 1);
      list.send(0).local(pair.a.region, 0, 8);
      pair.a.region.close();
      assertMessage(
          IllegalStateException.class,
          () -> pair.a.queuePair.post(list),
          "send request 0 \\(SEND\\) names memory region " + HEX + " of soft0, which is closed");
      pair.a.queuePair.close();
      assertMessage(
          IllegalStateException.class,
          pair.a.queuePair::state,
          "queue pair " + HEX + " of soft0 is closed");
    }
  }
}
