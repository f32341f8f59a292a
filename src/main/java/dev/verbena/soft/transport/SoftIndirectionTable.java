package dev.verbena.soft.transport;

import dev.verbena.raw.ibv_rwq_ind_table;
import dev.verbena.soft.device.SoftContext;
import dev.verbena.soft.device.SoftObject;
import java.util.Arrays;
import java.util.stream.Stream;

/** A receive indirection table: work queues, as many as a power of two. */
public final class SoftIndirectionTable extends SoftObject {
  private final SoftWorkQueue[] queues;

  public SoftIndirectionTable(SoftContext context, SoftWorkQueue[] queues) {
    super(
        context,
        context
            .struct(ibv_rwq_ind_table.layout())
            .putInt("ind_tbl_num", context.device.newNumber()),
        Stream.concat(Stream.of(context), Arrays.stream(queues)).toArray(SoftObject[]::new));
    this.queues = queues;
  }

  /** The queue for a hash: its lowest bits are the index. */
  SoftWorkQueue queue(int hash) {
    return queues[hash & (queues.length - 1)];
  }
}
