package dev.verbena.messages;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.soft.SoftNetwork;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.ProtectionDomain;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.Test;

/** Registered memory for messages, also while another thread closes it. */
class MessageSlotsTest {
  private static final int ROUNDS = 500;
  private static final int SIZE = 4096;

  @Test
  void aMessageIsCopiedToItsSlot() {
    try (SoftNetwork network = SoftNetwork.of("2");
        Context context = network.device().open();
        ProtectionDomain domain = context.allocateProtectionDomain()) {
      MessageSlots slots = new MessageSlots(domain, 2, SIZE);
      slots.put(1, MemorySegment.ofArray(new byte[] {1, 2, 3}));
      assertArrayEquals(new byte[] {1, 2, 3}, slots.slice(1, 3).toArray(ValueLayout.JAVA_BYTE));
      assertEquals(0, slots.slice(0, 1).get(ValueLayout.JAVA_BYTE, 0));
      MemorySegment freed = freed();
      assertThrows(IllegalStateException.class, () -> slots.put(0, freed));
    }
  }

  private static MemorySegment freed() {
    try (Arena arena = Arena.ofShared()) {
      return arena.allocate(1);
    }
  }

  /** The exception names the region, also if it is closed between the check and the copy. */
  @Test
  void copyingRacesWithClosing() throws Exception {
    MemorySegment message = MemorySegment.ofArray(new byte[SIZE]);
    try (SoftNetwork network = SoftNetwork.of("2");
        Context context = network.device().open()) {
      for (int round = 0; round < ROUNDS; round++) {
        ProtectionDomain domain = context.allocateProtectionDomain();
        MessageSlots slots = new MessageSlots(domain, 1, SIZE);
        FutureTask<String> copying =
            new FutureTask<>(
                () -> {
                  while (true) {
                    try {
                      slots.put(0, message);
                    } catch (IllegalStateException e) {
                      return e.getMessage();
                    }
                  }
                });
        Thread.ofPlatform().start(copying);
        domain.close();
        assertTrue(copying.get().contains("memory region"), round + ": " + copying.get());
      }
    }
  }
}
