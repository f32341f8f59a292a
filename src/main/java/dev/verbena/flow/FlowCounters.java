package dev.verbena.flow;

import dev.verbena.NativeConstant;
import dev.verbena.VerbsException;
import dev.verbena.internal.Explanation;
import dev.verbena.internal.Ranges;
import dev.verbena.internal.life.Core;
import dev.verbena.internal.life.ObjectText;
import dev.verbena.raw.ibv_counter_attach_attr;
import dev.verbena.raw.ibv_counters_init_attr;
import dev.verbena.raw.rdma_h;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Resource;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;

/**
 * Counters of the packets of flow rules: {@code struct ibv_counters}. Each counter has an index
 * that is selected when it is attached. Get one with {@link #on}.
 *
 * <p>Closing it calls {@code ibv_destroy_counters}. See {@code ibv_create_counters(3)}.
 */
public final class FlowCounters extends Resource {
  /** The size of an attribute of a kernel command is a 16-bit number of bytes. */
  private static final int MAX_READ = 0xffff / Long.BYTES;

  private final Context context;

  private FlowCounters(Context context, Core core) {
    super(core);
    this.context = context;
  }

  /** The unit of a counter: {@code enum ibv_counter_description}. */
  public enum Counted implements NativeConstant {
    /** Packets. */
    PACKETS(rdma_h.IBV_COUNTER_PACKETS()),
    /** Bytes. */
    BYTES(rdma_h.IBV_COUNTER_BYTES());

    private final int code;

    Counted(int code) {
      this.code = code;
    }

    @Override
    public int code() {
      return code;
    }
  }

  /**
   * Creates counters for the packets of flow rules: {@code ibv_create_counters}.
   *
   * @param context the context
   * @return the counters, not yet attached to a rule; to be closed
   */
  public static FlowCounters on(Context context) {
    try (Arena arena = Arena.ofConfined()) {
      long attr = ibv_counters_init_attr.allocate(arena).address();
      return Core.make(
          List.of(context),
          () -> Core.of(context).verbs().ibv_create_counters(context.segment().address(), attr),
          Core.of(context).verbs()::ibv_destroy_counters,
          core -> new FlowCounters(context, core));
    } catch (VerbsException e) {
      throw Explanation.addIfUnsupported(e, context.device() + " does not support flow counters");
    }
  }

  /**
   * Adds a counter for rules that {@linkplain FlowRule.Builder#count name} these counters: {@code
   * ibv_attach_counters_point_flow} without a flow. Call it before such a rule is created.
   *
   * @param counted the unit
   * @param index the index of the counter
   */
  public void attach(Counted counted, int index) {
    attach(counted, index, 0);
  }

  /**
   * Adds a counter for an existing rule: {@code ibv_attach_counters_point_flow}.
   *
   * @param counted the unit
   * @param index the index of the counter
   * @param rule a rule of the same context
   */
  public void attach(Counted counted, int index, FlowRule rule) {
    Core.requireSame(context, rule, rule.queuePair().domain().context());
    Core.of(rule).whileOpen(() -> attach(counted, index, rule.segment().address()));
  }

  private void attach(Counted counted, int index, long flow) {
    var _ = Ranges.notNegative(index, "index of a counter");
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment attr = ibv_counter_attach_attr.allocate(arena);
      ibv_counter_attach_attr.counter_desc(attr, counted.code());
      ibv_counter_attach_attr.index(attr, index);
      core.whileOpen(
          () -> core.verbs().ibv_attach_counters_point_flow(core.address(), attr.address(), flow));
    }
  }

  /**
   * Reads the counters from the device: {@code ibv_read_counters}.
   *
   * @param count the number of counters, from index 0 on: 1 to 8191
   * @return their values
   */
  public long[] read(int count) {
    return read(count, 0);
  }

  /**
   * Reads the cached counters, if the driver caches them: {@code ibv_read_counters} with {@code
   * IBV_READ_COUNTERS_ATTR_PREFER_CACHED}.
   *
   * @param count the number of counters, from index 0 on: 1 to 8191
   * @return their values
   */
  public long[] readCached(int count) {
    return read(count, rdma_h.IBV_READ_COUNTERS_ATTR_PREFER_CACHED());
  }

  private long[] read(int count, int flags) {
    if (count < 1 || count > MAX_READ) {
      throw new IllegalArgumentException(
          "number of counters must be 1 to " + MAX_READ + ": " + count);
    }
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment values = arena.allocate(ValueLayout.JAVA_LONG, count);
      core.whileOpen(
          () -> core.verbs().ibv_read_counters(core.address(), values.address(), count, flags));
      return values.toArray(ValueLayout.JAVA_LONG);
    }
  }

  /** {@return the context of the counters} */
  public Context context() {
    return context;
  }

  @Override
  public String toString() {
    return ObjectText.of(core, "flow counters of " + context.device());
  }
}
