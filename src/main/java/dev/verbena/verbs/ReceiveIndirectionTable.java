package dev.verbena.verbs;

import dev.verbena.VerbsException;
import dev.verbena.internal.Explanation;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.internal.life.Core;
import dev.verbena.internal.life.ObjectText;
import dev.verbena.raw.ibv_rwq_ind_table;
import dev.verbena.raw.ibv_rwq_ind_table_init_attr;
import dev.verbena.values.ReceiveHash;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;

/**
 * A receive work queue indirection table for receive side scaling (RSS): the work queues over which
 * a queue pair distributes received packets by a {@linkplain ReceiveHash hash} ({@code struct
 * ibv_rwq_ind_table}). Get one with {@link #create}.
 *
 * <p>Closing it calls {@code ibv_destroy_rwq_ind_table}. See {@code ibv_create_rwq_ind_table(3)}.
 */
public final class ReceiveIndirectionTable extends Resource {
  private final Context context;
  private final List<WorkQueue> queues;

  private ReceiveIndirectionTable(Context context, List<WorkQueue> queues, Core core) {
    super(core);
    this.context = context;
    this.queues = queues;
  }

  /**
   * Creates a receive work queue indirection table for receive side scaling (RSS): {@code
   * ibv_create_rwq_ind_table}.
   *
   * @param context the context of the device
   * @param queues the work queue of each table index; their number is a power of two
   * @return the table, to be closed
   */
  public static ReceiveIndirectionTable create(Context context, List<WorkQueue> queues) {
    if (Integer.bitCount(queues.size()) != 1) {
      throw new IllegalArgumentException(
          "number of work queues must be a power of two: " + queues.size());
    }
    for (WorkQueue queue : queues) {
      Core.requireSame(context, queue, queue.domain().context());
    }
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment entries = arena.allocate(ValueLayout.ADDRESS, queues.size());
      for (int i = 0; i < queues.size(); i++) {
        entries.setAtIndex(ValueLayout.ADDRESS, i, queues.get(i).segment());
      }
      MemorySegment attr = ibv_rwq_ind_table_init_attr.allocate(arena);
      ibv_rwq_ind_table_init_attr.log_ind_tbl_size(
          attr, Integer.numberOfTrailingZeros(queues.size()));
      ibv_rwq_ind_table_init_attr.ind_tbl(attr, entries);
      return Core.make(
          queues.stream().distinct().toList(),
          () -> context.verbs().ibv_create_rwq_ind_table(context.address(), attr.address()),
          context.verbs()::ibv_destroy_rwq_ind_table,
          core -> new ReceiveIndirectionTable(context, List.copyOf(queues), core));
    } catch (VerbsException e) {
      throw Explanation.addIfUnsupported(
          e, context.device() + " does not support receive side scaling (RSS)");
    }
  }

  /**
   * Returns the work queues in the order of the table.
   *
   * @return one work queue for each index
   */
  public List<WorkQueue> queues() {
    return queues;
  }

  /**
   * Returns the number of the table.
   *
   * @return the number that the device assigned
   */
  public int number() {
    return ibv_rwq_ind_table.ind_tbl_num(Memory.at(address(), ibv_rwq_ind_table.sizeof()));
  }

  /** {@return the context of the table} */
  public Context context() {
    return context;
  }

  @Override
  public String toString() {
    return ObjectText.of(
        core, "receive indirection table of " + context.device(), queues.size() + " work queues");
  }
}
