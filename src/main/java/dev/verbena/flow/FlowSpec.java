package dev.verbena.flow;

import dev.verbena.raw.ibv_flow_spec_eth;
import dev.verbena.raw.rdma_h;
import java.lang.foreign.GroupLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.util.stream.IntStream;

/**
 * A header as C has it: type, size, the values of fields and their mask ({@code struct
 * ibv_flow_spec}).
 *
 * @param values the values; more than the layout has are left out
 */
record FlowSpec(int type, GroupLayout layout, byte[] values, byte[] mask) {
  private static final PathElement VALUES = PathElement.groupElement("val");
  private static final PathElement MASK = PathElement.groupElement("mask");

  /** Returns a specification that matches any values. */
  static FlowSpec of(int type, GroupLayout layout) {
    int size = (int) layout.select(VALUES).byteSize();
    return new FlowSpec(type, layout, new byte[size], new byte[size]);
  }

  long size() {
    return layout.byteSize();
  }

  /** Sets bytes and their mask. The kernel's driver of mlx5 refuses values outside of the mask. */
  void set(int offset, byte[] value, byte[] bits) {
    for (int i = 0; i < value.length; i++) {
      values[offset + i] = (byte) (value[i] & bits[i]);
      mask[offset + i] = bits[i];
    }
  }

  /** Returns this specification in a form that ends earlier, if values at the end may be any. */
  FlowSpec shortest(int shortType, GroupLayout shortLayout) {
    int size = (int) shortLayout.select(VALUES).byteSize();
    boolean fits = IntStream.range(size, mask.length).allMatch(i -> mask[i] == 0);
    return fits ? new FlowSpec(shortType, shortLayout, values, mask) : this;
  }

  /** Writes the specification, for the packet itself or for the inner packet of a tunnel. */
  void writeTo(MemorySegment spec, boolean inner) {
    ibv_flow_spec_eth.type(spec, inner ? type | rdma_h.IBV_FLOW_SPEC_INNER() : type);
    ibv_flow_spec_eth.size(spec, (short) size());
    spec.asSlice(layout.byteOffset(VALUES)).copyFrom(fields(values));
    spec.asSlice(layout.byteOffset(MASK)).copyFrom(fields(mask));
  }

  /** Returns the values without type, size and mask. */
  MemorySegment fields() {
    return fields(values);
  }

  /** Returns the mask of the first bits of some bytes. */
  static byte[] prefixMask(int bytes, int prefix) {
    if (prefix < 0 || prefix > bytes * Byte.SIZE) {
      throw new IllegalArgumentException(
          "a prefix of " + prefix + " bits in an address of " + bytes + " bytes");
    }
    byte[] mask = new byte[bytes];
    for (int i = 0; i < prefix; i++) {
      mask[i / Byte.SIZE] |= (byte) (0x80 >>> (i % Byte.SIZE));
    }
    return mask;
  }

  private MemorySegment fields(byte[] all) {
    return MemorySegment.ofArray(all).asSlice(0, layout.select(VALUES).byteSize());
  }
}
