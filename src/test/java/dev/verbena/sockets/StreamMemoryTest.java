package dev.verbena.sockets;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.soft.SoftNetwork;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.ProtectionDomain;
import java.lang.foreign.MemorySegment;
import java.net.InetAddress;
import org.junit.jupiter.api.Test;

/** What a peer has written to the memory of a stream is not seen by the next stream that has it. */
class StreamMemoryTest {
  private static final int AREAS = 3;

  /** So that no other stream of this process has memory of the same size. */
  private static final Sizes SIZES = new Sizes(16, 16, 0, AREAS, 4713, 8192);

  @Test
  void grantsAndAreasOfAnEarlierPeerAreForgotten() throws Exception {
    try (SoftNetwork network = SoftNetwork.create()) {
      network.addDevice("device", InetAddress.ofLiteral("192.0.2.1"));
      try (Context context = network.device().open();
          ProtectionDomain domain = context.allocateProtectionDomain()) {
        long address;
        try (StreamMemory memory = new StreamMemory(domain, SIZES)) {
          ConnectionData told = memory.describe();
          address = told.table().address();
          long received = told.buffer().address() + told.buffer().length() - address;
          MemorySegment.ofAddress(address).reinterpret(received).fill((byte) 0x11);
          StreamMemory.Target target = new StreamMemory.Target();
          assertTrue(memory.take(1, target), "as if the peer had granted memory");
          assertTrue(memory.find(0x1111_1111_1111_1111L, target), "and mapped an area");
        }
        try (StreamMemory memory = new StreamMemory(domain, SIZES)) {
          assertEquals(address, memory.describe().table().address(), "the memory is used again");
          for (int i = 0; i < ConnectionData.SGES; i++) {
            assertFalse(memory.take(i, new StreamMemory.Target()), "the grant " + i);
          }
          for (long offset : new long[] {0, 0x1111_1111_1111_1111L}) {
            assertFalse(memory.find(offset, new StreamMemory.Target()), "an area at " + offset);
          }
        }
      }
    }
  }
}
