package dev.verbena.sockets;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.ref.WeakReference;
import java.nio.ByteBuffer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("host")
class BufferMemoryTest {
  private final BufferMemory memory = new BufferMemory();

  @Test
  void isThatFromIndex0ToTheCapacity() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment whole = arena.allocate(100);
      ByteBuffer buffer = whole.asByteBuffer().position(30).limit(40);
      assertEquals(whole.address(), memory.of(buffer).address());
      assertEquals(100, memory.of(buffer).byteSize());
      assertEquals(whole.address() + 30, memory.of(buffer.slice()).address());
      assertTrue(memory.of(buffer.asReadOnlyBuffer()).isReadOnly());
    }
  }

  @Test
  void isTheSameForTheSameBuffer() {
    ByteBuffer buffer = ByteBuffer.allocateDirect(100);
    MemorySegment first = memory.of(buffer);
    assertSame(first, memory.of(buffer.position(50)));
    // An equal buffer is another one.
    assertNotSame(first, memory.of(buffer.duplicate()));
  }

  @Test
  void endsWithTheArena() {
    ByteBuffer buffer;
    try (Arena arena = Arena.ofConfined()) {
      buffer = arena.allocate(8).asByteBuffer();
      assertEquals(0, memory.of(buffer).get(ValueLayout.JAVA_BYTE, 0));
    }
    MemorySegment closed = memory.of(buffer);
    assertThrows(IllegalStateException.class, () -> closed.get(ValueLayout.JAVA_BYTE, 0));
  }

  @Test
  void keepsNoBuffer() {
    WeakReference<ByteBuffer> buffer = passed();
    while (buffer.get() != null) {
      System.gc();
    }
    assertEquals(8, memory.of(ByteBuffer.allocateDirect(8)).byteSize());
  }

  private WeakReference<ByteBuffer> passed() {
    ByteBuffer buffer = ByteBuffer.allocateDirect(8);
    assertEquals(8, memory.of(buffer).byteSize());
    return new WeakReference<>(buffer);
  }
}
