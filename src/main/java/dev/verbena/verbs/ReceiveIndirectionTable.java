package dev.verbena.verbs;

import dev.verbena.VerbsException;
import dev.verbena.internal.Memory;
import dev.verbena.raw.ibv_rwq_ind_table;
import dev.verbena.raw.ibv_rwq_ind_table_init_attr;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;

/**
 * The work queues over which a queue pair spreads what it receives, chosen by a {@linkplain
 * ReceiveHash hash}: {@code struct ibv_rwq_ind_table}.
 *
 * <p>Closing it calls {@code ibv_destroy_rwq_ind_table}.
 */
public final class ReceiveIndirectionTable extends Resource {
  private final Context context;
  private final List<WorkQueue> queues;

  private ReceiveIndirectionTable(Context context, List<WorkQueue> queues, long address) {
    super(address, () -> context.verbs().ibv_destroy_rwq_ind_table(address));
    this.context = context;
    this.queues = queues;
  }

  static ReceiveIndirectionTable create(Context context, List<WorkQueue> queues) {
    if (Integer.bitCount(queues.size()) != 1) {
      throw new IllegalArgumentException(
          "a table of " + queues.size() + " entries: a power of two is needed");
    }
    for (WorkQueue queue : queues) {
      if (queue.domain().context() != context) {
        throw new IllegalArgumentException(queue + " is not of " + context);
      }
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
      return make(
          queues.stream().distinct().toList(),
          () ->
              new ReceiveIndirectionTable(
                  context,
                  List.copyOf(queues),
                  context.verbs().ibv_create_rwq_ind_table(context.address(), attr.address())));
    } catch (VerbsException e) {
      throw e.isUnsupported()
          ? e.explained(context.device() + " cannot spread what it receives")
          : e;
    }
  }

  /**
   * The queues, in the order of the table.
   *
   * @return one queue for each entry
   */
  public List<WorkQueue> queues() {
    return queues;
  }

  /**
   * The table's number.
   *
   * @return what the device calls it by
   */
  public int number() {
    return ibv_rwq_ind_table.ind_tbl_num(Memory.at(address(), ibv_rwq_ind_table.sizeof()));
  }

  /**
   * The context that the table was made from.
   *
   * @return the context
   */
  public Context context() {
    return context;
  }

  @Override
  public String toString() {
    return "receive indirection table of " + context.device();
  }
}
