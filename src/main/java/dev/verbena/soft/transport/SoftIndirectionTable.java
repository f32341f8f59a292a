package dev.verbena.soft.transport;

import dev.verbena.soft.device.CStruct;
import dev.verbena.soft.device.SoftContext;
import dev.verbena.soft.device.SoftObject;

/** A receive indirection table: work queues, as many as a power of two. */
public final class SoftIndirectionTable extends SoftObject {
  public final SoftContext context;
  private final SoftWorkQueue[] queues;

  public SoftIndirectionTable(SoftContext context, CStruct struct, SoftWorkQueue[] queues) {
    super(context.device, struct);
    this.context = context;
    this.queues = queues;
  }

  @Override
  public String handleField() {
    return "ind_tbl_handle";
  }

  /** The queue for a hash: its lowest bits are the index. */
  SoftWorkQueue queue(int hash) {
    return queues[hash & (queues.length - 1)];
  }

  /** Counts the table as a user of its queues. */
  public void use(int change) {
    for (SoftWorkQueue queue : queues) {
      queue.users += change;
    }
  }
}
