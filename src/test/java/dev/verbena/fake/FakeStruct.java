package dev.verbena.fake;

import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;

import dev.verbena.internal.foreign.Abi;
import dev.verbena.internal.foreign.Memory;
import java.lang.foreign.Arena;
import java.lang.foreign.GroupLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * A C struct whose fields go by their names, at the offsets of the machine that runs. Slow, and
 * right for every struct.
 */
final class FakeStruct {
  private final MemorySegment memory;
  private final GroupLayout raw;

  private FakeStruct(MemorySegment memory, GroupLayout raw) {
    this.memory = memory;
    this.raw = raw;
  }

  /** A new struct, all zero. */
  static FakeStruct in(Arena arena, GroupLayout raw) {
    return new FakeStruct(arena.allocate(Abi.current().layout(raw)), raw);
  }

  /** The struct at an address. */
  static FakeStruct at(long address, GroupLayout raw) {
    return new FakeStruct(Memory.at(address, Abi.current().sizeOf(raw)), raw);
  }

  long address() {
    return memory.address();
  }

  private long offset(String field) {
    return Abi.current().offsetOf(raw, field);
  }

  /** The address of a field. */
  long addressOf(String field) {
    return memory.address() + offset(field);
  }

  long getLong(String field) {
    return memory.get(JAVA_LONG_UNALIGNED, offset(field));
  }

  int getInt(String field) {
    return memory.get(ValueLayout.JAVA_INT, offset(field));
  }

  short getShort(String field) {
    return memory.get(ValueLayout.JAVA_SHORT, offset(field));
  }

  byte getByte(String field) {
    return memory.get(ValueLayout.JAVA_BYTE, offset(field));
  }

  FakeStruct putLong(String field, long value) {
    memory.set(JAVA_LONG_UNALIGNED, offset(field), value);
    return this;
  }

  FakeStruct putInt(String field, int value) {
    memory.set(ValueLayout.JAVA_INT, offset(field), value);
    return this;
  }

  FakeStruct putShort(String field, int value) {
    memory.set(ValueLayout.JAVA_SHORT, offset(field), (short) value);
    return this;
  }

  FakeStruct putByte(String field, int value) {
    memory.set(ValueLayout.JAVA_BYTE, offset(field), (byte) value);
    return this;
  }

  FakeStruct putString(String field, String value) {
    memory.setString(offset(field), value);
    return this;
  }
}
