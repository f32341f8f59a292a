package dev.verbena.verbs;

import dev.verbena.FlagSet;
import dev.verbena.NativeConstant;
import dev.verbena.NativeFlag;
import dev.verbena.VerbsException;
import dev.verbena.internal.AttributeText;
import dev.verbena.internal.Explanation;
import dev.verbena.internal.life.Core;
import dev.verbena.internal.life.ObjectText;
import dev.verbena.raw.ibv_comp_cntr_caps;
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
 * A completion counter: counts successful and failed completions without generating work
 * completions for each of them ({@code struct ibv_comp_cntr}). Requires rdma-core 65. Get one with
 * {@link #create}.
 *
 * <p>Closing it calls {@code ibv_destroy_comp_cntr}.
 */
public final class CompletionCounter extends Resource {
  private final Context context;
  private final Type type;

  private CompletionCounter(Context context, Type type, Core core) {
    super(core);
    this.context = context;
    this.type = type;
  }

  /**
   * Returns the capabilities of a device: {@code ibv_query_comp_cntr_caps} ({@code
   * _ibv_query_comp_cntr_caps}).
   *
   * @param context the context of the device
   * @return the capabilities
   */
  public static Capabilities capabilities(Context context) {
    MemorySegment caps = ibv_comp_cntr_caps.allocate(Arena.ofAuto());
    context.core.whileOpen(
        () -> context.verbs().ibv_query_comp_cntr_caps(context.address(), caps.address()));
    return new Capabilities(caps);
  }

  /** The unit of the counter: {@code enum ibv_comp_cntr_type}. */
  public enum Type implements NativeConstant {
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

  /** A kind of operations that can be counted: {@code enum ibv_qp_attach_comp_cntr_op}. */
  public enum Operation implements NativeFlag {
    /** Sends. */
    SEND(rdma_h.IBV_QP_ATTACH_COMP_CNTR_OP_SEND()),
    /** Receives. */
    RECV(rdma_h.IBV_QP_ATTACH_COMP_CNTR_OP_RECV()),
    /** Local RDMA reads. */
    RDMA_READ(rdma_h.IBV_QP_ATTACH_COMP_CNTR_OP_RDMA_READ()),
    /** RDMA reads of the remote side. */
    REMOTE_RDMA_READ(rdma_h.IBV_QP_ATTACH_COMP_CNTR_OP_REMOTE_RDMA_READ()),
    /** Local RDMA writes. */
    RDMA_WRITE(rdma_h.IBV_QP_ATTACH_COMP_CNTR_OP_RDMA_WRITE()),
    /** RDMA writes of the remote side. */
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

  /**
   * Creates a completion counter: {@code ibv_create_comp_cntr}.
   *
   * @param context the context of the device
   * @param type the unit: work requests or bytes
   * @return a counter with value 0, to be closed
   */
  public static CompletionCounter create(Context context, Type type) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment attr = ibv_comp_cntr_init_attr.allocate(arena);
      ibv_comp_cntr_init_attr.type(attr, type.code());
      return Core.make(
          List.of(context),
          () -> context.verbs().ibv_create_comp_cntr(context.address(), attr.address()),
          context.verbs()::ibv_destroy_comp_cntr,
          core -> new CompletionCounter(context, type, core));
    } catch (VerbsException e) {
      throw Explanation.addIfUnsupported(
          e, context.device() + " does not support completion counters of type " + type);
    }
  }

  /**
   * Attaches the counter to operations of a queue pair, until the queue pair is closed: {@code
   * ibv_qp_attach_comp_cntr}. Closing the counter closes the queue pair first.
   *
   * @param queuePair a queue pair in state RESET or INIT
   * @param first an operation to count
   * @param more further operations to count
   */
  public void attach(QueuePair queuePair, Operation first, Operation... more) {
    Core.requireSame(context, queuePair, queuePair.domain().context());
    Set<Operation> operations = EnumSet.of(first, more);
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment attr = ibv_qp_attach_comp_cntr_attr.allocate(arena);
      ibv_qp_attach_comp_cntr_attr.op_mask(attr, (int) NativeFlag.mask(operations));
      Core.whileOpen(
          List.of(queuePair, this),
          () -> {
            context.verbs().ibv_qp_attach_comp_cntr(queuePair.address(), address(), attr.address());
            queuePair.core.addParent(this); // C destroys no counter that is attached.
          });
    } catch (VerbsException e) {
      throw Explanation.add(
          e,
          "cannot count %s of %s, which must be in RESET or INIT and have no other counter for these"
              .formatted(operations, queuePair));
    }
  }

  /**
   * Returns the number of successful completions: {@code ibv_read_comp_cntr}.
   *
   * @return the value of the counter
   */
  public long value() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment value = arena.allocate(ValueLayout.JAVA_LONG);
      core.whileOpen(() -> context.verbs().ibv_read_comp_cntr(address(), value.address()));
      return value.get(ValueLayout.JAVA_LONG, 0);
    }
  }

  /**
   * Returns the number of failed completions: {@code ibv_read_err_comp_cntr}.
   *
   * @return the value of the error counter
   */
  public long errors() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment value = arena.allocate(ValueLayout.JAVA_LONG);
      core.whileOpen(() -> context.verbs().ibv_read_err_comp_cntr(address(), value.address()));
      return value.get(ValueLayout.JAVA_LONG, 0);
    }
  }

  /**
   * Sets the number of successful completions: {@code ibv_set_comp_cntr}. No operation should
   * complete during the call.
   *
   * @param value the new value
   */
  public void value(long value) {
    core.whileOpen(() -> context.verbs().ibv_set_comp_cntr(address(), value));
  }

  /**
   * Sets the number of failed completions: {@code ibv_set_err_comp_cntr}. No operation should
   * complete during the call.
   *
   * @param value the new value
   */
  public void errors(long value) {
    core.whileOpen(() -> context.verbs().ibv_set_err_comp_cntr(address(), value));
  }

  /**
   * Adds to the number of successful completions: {@code ibv_inc_comp_cntr}.
   *
   * @param amount the value to add
   */
  public void add(long amount) {
    core.whileOpen(() -> context.verbs().ibv_inc_comp_cntr(address(), amount));
  }

  /**
   * Adds to the number of failed completions: {@code ibv_inc_err_comp_cntr}.
   *
   * @param amount the value to add
   */
  public void addErrors(long amount) {
    core.whileOpen(() -> context.verbs().ibv_inc_err_comp_cntr(address(), amount));
  }

  /**
   * Returns the unit of the counter.
   *
   * @return work requests or bytes
   */
  public Type type() {
    return type;
  }

  /** {@return the context of the counter} */
  public Context context() {
    return context;
  }

  @Override
  public String toString() {
    return ObjectText.of(core, "completion counter of " + context.device(), type);
  }

  /** The completion counter capabilities of a device: {@code struct ibv_comp_cntr_caps}. */
  public static final class Capabilities {
    private final MemorySegment struct;

    private Capabilities(MemorySegment struct) {
      this.struct = struct;
    }

    /**
     * Returns the maximum value of a counter.
     *
     * @return the maximum, unsigned
     */
    public long maxValue() {
      return ibv_comp_cntr_caps.max_value(struct);
    }

    /** {@return the maximum number of counters} */
    public int maxCounters() {
      return ibv_comp_cntr_caps.max_counters(struct);
    }

    /** {@return the operations that can be counted} */
    public FlagSet<Operation> operations() {
      return FlagSet.of(
          Operation.class,
          Integer.toUnsignedLong(ibv_comp_cntr_caps.supported_qp_attach_ops(struct)));
    }

    @Override
    public String toString() {
      return new AttributeText(Capabilities.class)
          .add("maxValue", maxValue())
          .add("maxCounters", maxCounters())
          .add("operations", operations())
          .toString();
    }
  }
}
