package dev.verbena.verbs;

import dev.verbena.VerbsException;
import dev.verbena.raw.ibv_comp_cntr_init_attr;
import dev.verbena.raw.ibv_qp_attach_comp_cntr_attr;
import dev.verbena.raw.rdma_h;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;

/**
 * Two numbers that count completions, the good and the failed, without telling them apart: {@code
 * struct ibv_comp_cntr}. Needs rdma-core 65.
 *
 * <p>Closing it calls {@code ibv_destroy_comp_cntr}.
 */
public final class CompletionCounter extends Resource {
  private final Context context;
  private final Type type;

  private CompletionCounter(Context context, Type type, long address) {
    super(address, () -> context.verbs().ibv_destroy_comp_cntr(address));
    this.context = context;
    this.type = type;
  }

  /** What is counted: {@code enum ibv_comp_cntr_type}. */
  public enum Type implements Codes.Code {
    /** Work requests. */
    WRS(rdma_h.IBV_COMP_CNTR_TYPE_WRS()),
    /** Bytes. */
    BYTES(rdma_h.IBV_COMP_CNTR_TYPE_BYTES());

    private final int code;

    Type(int code) {
      this.code = code;
    }

    @Override
    public int code() {
      return code;
    }
  }

  /** Operations of a queue pair that can be counted: {@code enum ibv_qp_attach_comp_cntr_op}. */
  public enum Operation implements Flags.Flag {
    /** Sends. */
    SEND(rdma_h.IBV_QP_ATTACH_COMP_CNTR_OP_SEND()),
    /** Receives. */
    RECV(rdma_h.IBV_QP_ATTACH_COMP_CNTR_OP_RECV()),
    /** RDMA reads that were posted here. */
    RDMA_READ(rdma_h.IBV_QP_ATTACH_COMP_CNTR_OP_RDMA_READ()),
    /** RDMA reads by the peer. */
    REMOTE_RDMA_READ(rdma_h.IBV_QP_ATTACH_COMP_CNTR_OP_REMOTE_RDMA_READ()),
    /** RDMA writes that were posted here. */
    RDMA_WRITE(rdma_h.IBV_QP_ATTACH_COMP_CNTR_OP_RDMA_WRITE()),
    /** RDMA writes by the peer. */
    REMOTE_RDMA_WRITE(rdma_h.IBV_QP_ATTACH_COMP_CNTR_OP_REMOTE_RDMA_WRITE());

    private final long bit;

    Operation(int bit) {
      this.bit = bit;
    }

    @Override
    public long bit() {
      return bit;
    }
  }

  static CompletionCounter create(Context context, Type type) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment attr = ibv_comp_cntr_init_attr.allocate(arena);
      ibv_comp_cntr_init_attr.type(attr, type.code());
      return make(
          List.of(context),
          () ->
              new CompletionCounter(
                  context,
                  type,
                  context.verbs().ibv_create_comp_cntr(context.address(), attr.address())));
    } catch (VerbsException e) {
      throw e.isUnsupported()
          ? e.explained(context.device() + " has no completion counters of " + type)
          : e;
    }
  }

  /**
   * Lets the counter count operations of a queue pair, until that is closed: {@code
   * ibv_qp_attach_comp_cntr}.
   *
   * @param queuePair a queue pair in state RESET or INIT
   * @param first an operation to count
   * @param more more operations to count
   */
  public void attach(QueuePair queuePair, Operation first, Operation... more) {
    if (queuePair.domain().context() != context) {
      throw new IllegalArgumentException(queuePair + " is not of " + context);
    }
    Set<Operation> operations = EnumSet.of(first, more);
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment attr = ibv_qp_attach_comp_cntr_attr.allocate(arena);
      ibv_qp_attach_comp_cntr_attr.op_mask(attr, (int) Flags.mask(operations));
      whileOpen(
          List.of(queuePair, this),
          () ->
              context
                  .verbs()
                  .ibv_qp_attach_comp_cntr(queuePair.address(), address(), attr.address()));
    } catch (VerbsException e) {
      throw e.explained(
          "counting "
              + operations
              + " of "
              + queuePair
              + ", which must be in RESET or INIT and have no other counter for these");
    }
  }

  /**
   * How many completed: {@code ibv_read_comp_cntr}.
   *
   * @return the count of good completions
   */
  public long value() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment value = arena.allocate(ValueLayout.JAVA_LONG);
      whileOpen(() -> context.verbs().ibv_read_comp_cntr(address(), value.address()));
      return value.get(ValueLayout.JAVA_LONG, 0);
    }
  }

  /**
   * How many failed: {@code ibv_read_err_comp_cntr}.
   *
   * @return the count of failed completions
   */
  public long errors() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment value = arena.allocate(ValueLayout.JAVA_LONG);
      whileOpen(() -> context.verbs().ibv_read_err_comp_cntr(address(), value.address()));
      return value.get(ValueLayout.JAVA_LONG, 0);
    }
  }

  /**
   * Sets the count of good completions: {@code ibv_set_comp_cntr}. Nothing should complete
   * meanwhile.
   *
   * @param value the new count
   */
  public void value(long value) {
    whileOpen(() -> context.verbs().ibv_set_comp_cntr(address(), value));
  }

  /**
   * Sets the count of failed completions: {@code ibv_set_err_comp_cntr}. Nothing should complete
   * meanwhile.
   *
   * @param value the new count
   */
  public void errors(long value) {
    whileOpen(() -> context.verbs().ibv_set_err_comp_cntr(address(), value));
  }

  /**
   * Adds to the count of good completions: {@code ibv_inc_comp_cntr}.
   *
   * @param amount how many
   */
  public void add(long amount) {
    whileOpen(() -> context.verbs().ibv_inc_comp_cntr(address(), amount));
  }

  /**
   * Adds to the count of failed completions: {@code ibv_inc_err_comp_cntr}.
   *
   * @param amount how many
   */
  public void addErrors(long amount) {
    whileOpen(() -> context.verbs().ibv_inc_err_comp_cntr(address(), amount));
  }

  /**
   * What is counted.
   *
   * @return requests or bytes
   */
  public Type type() {
    return type;
  }

  /**
   * The context that the counter was made from.
   *
   * @return the context
   */
  public Context context() {
    return context;
  }

  @Override
  public String toString() {
    return "completion counter of " + context.device();
  }
}
