package dev.verbena.internal;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.raw.ibv_context;
import dev.verbena.raw.ibv_context_ops;
import dev.verbena.raw.ibv_flow;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.util.function.Supplier;

/** Finds the function pointer of a method marked {@link ContextOp}. */
final class ContextOps {
  private static final String BASIC = "ops.";

  private ContextOps() {}

  /**
   * Returns the pointer, with the guards of verbs.h.
   *
   * @param op the annotation of the method
   * @param function the C function's name
   * @param first the first argument of the C function, from which the context is found
   * @param library a description of the library, for messages
   * @throws VerbsException EOPNOTSUPP if the library or the provider lacks it
   */
  static MemorySegment find(ContextOp op, String function, long first, Supplier<String> library) {
    long context =
        switch (op.of()) {
          case CONTEXT -> first;
          case OBJECT -> Memory.getLong(first);
          case FLOW -> Memory.getLong(first + ibv_flow.context$offset());
        };
    if (op.field().startsWith(BASIC)) {
      String field = op.field().substring(BASIC.length());
      long offset = ibv_context_ops.layout().byteOffset(PathElement.groupElement(field));
      return Memory.function(context + ibv_context.ops$offset() + offset, function);
    }
    String field = field(op, function);
    if (!ExtendedContext.holds(context, field)) {
      String needed = op.since() == 0 ? "rdma-core" : "rdma-core " + op.since() + " or newer";
      throw new VerbsException(
          function, Errno.EOPNOTSUPP, "needs " + needed + ", found " + library.get());
    }
    return ExtendedContext.pointer(context, field, function);
  }

  /** Returns the name of the field of {@code verbs_context} with the pointer. */
  static String field(ContextOp op, String function) {
    return op.field().isEmpty() ? function.replaceFirst("^ibv_", "") : op.field();
  }
}
