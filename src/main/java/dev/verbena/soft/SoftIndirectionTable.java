package dev.verbena.soft;

/** A receive indirection table: work queues, as many as a power of two. */
final class SoftIndirectionTable extends SoftObject {
  final SoftContext context;
  private final SoftWorkQueue[] queues;

  SoftIndirectionTable(SoftContext context, CStruct struct, SoftWorkQueue[] queues) {
    super(context.device, struct);
    this.context = context;
    this.queues = queues;
  }

  @Override
  String handleField() {
    return "ind_tbl_handle";
  }

  /** The queue for a hash: its lowest bits are the index. */
  SoftWorkQueue queue(int hash) {
    return queues[hash & (queues.length - 1)];
  }

  /** Counts the table as a user of its queues. */
  void use(int change) {
    for (SoftWorkQueue queue : queues) {
      queue.users += change;
    }
  }
}
