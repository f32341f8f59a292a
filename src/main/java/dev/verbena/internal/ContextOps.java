package dev.verbena.internal;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.internal.foreign.Abi;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.raw.ibv_context;
import dev.verbena.raw.ibv_context_ops;
import dev.verbena.raw.ibv_flow;
import java.lang.foreign.MemorySegment;

/** Finds the function pointer of a method marked {@link ContextOp}. */
final class ContextOps {
  private static final String BASIC = "ops.";

  private ContextOps() {}

  /**
   * Returns the pointer, with the guards of verbs.h.
   *
   * @param of the location of the context
   * @param name the field with the pointer
   * @param since the first rdma-core release that has the field; 0 for all releases
   * @param method the name of the method of the function
   * @param first the first argument of the C function, from which the context is found
   * @param library what implements the functions, for messages
   * @throws VerbsException EOPNOTSUPP if the library or the provider lacks it
   */
  static MemorySegment find(
      ContextOp.Of of, String name, int since, String method, long first, Object library) {
    String function = CNames.of(method);
    long context =
        switch (of) {
          case CONTEXT -> first;
          case OBJECT -> Memory.getLong(first);
          case FLOW -> Memory.getLong(first + ibv_flow.context$offset());
        };
    if (name.startsWith(BASIC)) {
      String field = name.substring(BASIC.length());
      long offset = Abi.current().offsetOf(ibv_context_ops.layout(), field);
      return Memory.function(context + ibv_context.ops$offset() + offset, function);
    }
    if (!ExtendedContext.holds(context, name)) {
      String needed = since == 0 ? "rdma-core" : "rdma-core " + since + " or newer";
      throw new VerbsException(
          function, Errno.EOPNOTSUPP, "needs " + needed + ", found " + library);
    }
    return ExtendedContext.pointer(context, name, function);
  }

  /** Returns the name of the field of {@code verbs_context} with the pointer. */
  static String field(ContextOp op, String function) {
    return op.field().isEmpty() ? function.replaceFirst("^ibv_", "") : op.field();
  }
}
