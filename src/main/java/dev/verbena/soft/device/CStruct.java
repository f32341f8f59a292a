package dev.verbena.soft.device;

import static java.lang.foreign.ValueLayout.JAVA_LONG_UNALIGNED;

import dev.verbena.internal.foreign.Abi;
import dev.verbena.internal.foreign.Memory;
import java.lang.foreign.Arena;
import java.lang.foreign.GroupLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * A C struct whose fields are accessed by name, at the offsets of this platform. For control verbs:
 * each access looks up its field.
 */
public final class CStruct {
  private final MemorySegment memory;
  private final GroupLayout raw;

  private CStruct(MemorySegment memory, GroupLayout raw) {
    this.memory = memory;
    this.raw = raw;
  }

  /** A new struct, all zero, which lives as long as this object. */
  public static CStruct allocate(GroupLayout raw) {
    return new CStruct(Arena.ofAuto().allocate(Abi.current().layout(raw)), raw);
  }

  /** The struct at an address. */
  public static CStruct at(long address, GroupLayout raw) {
    return new CStruct(Memory.at(address, Abi.current().sizeOf(raw)), raw);
  }

  /** A nested struct. */
  public CStruct at(String field, GroupLayout nested) {
    return at(addressOf(field), nested);
  }

  public MemorySegment segment() {
    return memory;
  }

  public long address() {
    return memory.address();
  }

  public long size() {
    return memory.byteSize();
  }

  /** Whether it has a field, also one of a nested struct. */
  boolean has(String field) {
    return Abi.current().hasField(raw, field);
  }

  private long offset(String field) {
    return Abi.current().offsetOf(raw, field);
  }

  public long addressOf(String field) {
    return memory.address() + offset(field);
  }

  public long getLong(String field) {
    return memory.get(JAVA_LONG_UNALIGNED, offset(field));
  }

  public int getInt(String field) {
    return memory.get(ValueLayout.JAVA_INT, offset(field));
  }

  public int getShort(String field) {
    return Short.toUnsignedInt(memory.get(ValueLayout.JAVA_SHORT, offset(field)));
  }

  public int getByte(String field) {
    return Byte.toUnsignedInt(memory.get(ValueLayout.JAVA_BYTE, offset(field)));
  }

  public CStruct putLong(String field, long value) {
    memory.set(JAVA_LONG_UNALIGNED, offset(field), value);
    return this;
  }

  public CStruct putInt(String field, int value) {
    memory.set(ValueLayout.JAVA_INT, offset(field), value);
    return this;
  }

  public CStruct putShort(String field, int value) {
    memory.set(ValueLayout.JAVA_SHORT, offset(field), (short) value);
    return this;
  }

  public CStruct putByte(String field, int value) {
    memory.set(ValueLayout.JAVA_BYTE, offset(field), (byte) value);
    return this;
  }

  public CStruct putString(String field, String value) {
    memory.setString(offset(field), value);
    return this;
  }

  /** Copies the whole struct to an address. */
  public void copyTo(long address) {
    Memory.at(address, size()).copyFrom(memory);
  }
}
