package dev.verbena.disni;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.ibm.disni.util.MemBuf;
import com.ibm.disni.util.MemoryAllocation;
import com.ibm.disni.util.MemoryUtils;
import com.ibm.disni.util.NativeAffinity;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import org.junit.jupiter.api.Test;

/** {@code MemoryUtils} and {@code NativeAffinity}. */
class UtilitiesTest {
  @Test
  void addressIsThatOfIndex0() {
    ByteBuffer buffer = ByteBuffer.allocateDirect(64);
    long address = MemorySegment.ofBuffer(buffer).address();
    assertEquals(address, MemoryUtils.getAddress(buffer));
    assertEquals(address, MemoryUtils.getAddress(buffer.position(9)));
    assertEquals(address, MemoryUtils.getAddress(buffer.asReadOnlyBuffer()));
    assertEquals(address + 9, MemoryUtils.getAddress(buffer.slice()));
    assertEquals(address, MemoryUtils.getAddress(buffer.duplicate().position(20)));
    assertThrows(
        IllegalArgumentException.class, () -> MemoryUtils.getAddress(ByteBuffer.allocate(8)));
  }

  @Test
  void disnisAllocatorUsesIt() {
    MemBuf memory = MemoryAllocation.getInstance().allocate(100);
    assertNotEquals(0, memory.address());
    assertEquals(MemoryUtils.getAddress(memory.getBuffer()), memory.address());
    memory.free();
  }

  @Test
  void affinityIsThatOfTheThread() throws InterruptedException {
    Thread thread =
        Thread.ofPlatform()
            .start(
                () -> {
                  long all = NativeAffinity.getAffinity();
                  long one = Long.lowestOneBit(all);
                  NativeAffinity.setAffinity(one);
                  assertEquals(one, NativeAffinity.getAffinity());
                  NativeAffinity.setAffinity(0);
                  assertEquals(one, NativeAffinity.getAffinity(), "0 has no effect");
                });
    Throwable[] failure = new Throwable[1];
    thread.setUncaughtExceptionHandler((_, e) -> failure[0] = e);
    thread.join();
    if (failure[0] != null) {
      throw new AssertionError(failure[0]);
    }
    assertTrue(Long.bitCount(NativeAffinity.getAffinity()) >= 1);
  }
}
