package dev.verbena.internal;

import dev.verbena.internal.foreign.Abi;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.raw.ibv_context;
import dev.verbena.raw.rdma_h;
import dev.verbena.raw.verbs_context;
import java.lang.foreign.MemorySegment;

/**
 * The {@code struct verbs_context} around an {@code ibv_context}, with the guards by which verbs.h
 * reads it.
 *
 * <p>The struct grows at its front: each field has a fixed distance from its end, and {@code sz} is
 * the size that the library filled.
 */
final class ExtendedContext {
  private static final long ABI_COMPAT = Abi.current().offsetOf(ibv_context.layout(), "abi_compat");
  private static final long SIZE_OF_CONTEXT = Abi.current().sizeOf(ibv_context.layout());
  private static final long CONTEXT = verbs_context.context$offset();
  private static final long SZ = verbs_context.sz$offset() - CONTEXT;
  private static final long IS_EXTENDED = rdma_h.__VERBS_ABI_IS_EXTENDED().address();

  private ExtendedContext() {}

  /** Returns the struct around a context, or 0: {@code verbs_get_ctx}. */
  static long around(long context) {
    return Memory.getLong(context + ABI_COMPAT) == IS_EXTENDED ? context - CONTEXT : 0;
  }

  /**
   * Returns whether the library has the field and the provider filled it: {@code verbs_get_ctx_op}.
   */
  static boolean provides(long context, String field) {
    return holds(context, field) && Memory.getLong(context + distance(field)) != 0;
  }

  /** Returns whether the library that created the context has the field. */
  static boolean holds(long context, String field) {
    return around(context) != 0
        && Memory.getLong(context + SZ) >= SIZE_OF_CONTEXT - distance(field);
  }

  /**
   * Returns the function pointer in a field that the struct {@linkplain #holds contains}.
   *
   * @throws dev.verbena.VerbsException EOPNOTSUPP, naming the function, if it is NULL
   */
  static MemorySegment pointer(long context, String field, String function) {
    return Memory.function(context + distance(field), function);
  }

  /** Returns the offset of a field relative to the context, which is negative. */
  private static long distance(String field) {
    return Abi.current().offsetOf(verbs_context.layout(), field) - CONTEXT;
  }
}
