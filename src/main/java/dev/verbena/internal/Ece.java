package dev.verbena.internal;

import dev.verbena.raw.ibv_ece;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.function.LongConsumer;

/** Passes a {@code struct ibv_ece} to functions of libibverbs and librdmacm. */
public final class Ece {
  /** Creates an object from the fields of the struct. */
  public interface Fields<T> {
    /** Returns the object for a vendor and its options. */
    T of(int vendor, int options);
  }

  private Ece() {}

  /**
   * Calls a function that reads the struct.
   *
   * @param vendor the field {@code vendor_id}
   * @param options the field {@code options}
   * @param function receives the address of the struct
   */
  public static void set(int vendor, int options, LongConsumer function) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment ece = ibv_ece.allocate(arena);
      ibv_ece.vendor_id(ece, vendor);
      ibv_ece.options(ece, options);
      function.accept(ece.address());
    }
  }

  /**
   * Calls a function that fills the struct.
   *
   * @param function receives the address of the struct
   * @param fields creates the result
   * @return the result
   */
  public static <T> T get(LongConsumer function, Fields<T> fields) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment ece = ibv_ece.allocate(arena);
      function.accept(ece.address());
      return fields.of(ibv_ece.vendor_id(ece), ibv_ece.options(ece));
    }
  }
}
