package dev.verbena.verbs;

import dev.verbena.raw.rdma_h;

/** What to do with memory that is paged on demand: {@code enum ib_uverbs_advise_mr_advice}. */
public enum MemoryAdvice implements Codes.Code {
  /** Bring the pages in, for reading. */
  PREFETCH(rdma_h.IBV_ADVISE_MR_ADVICE_PREFETCH()),
  /** Bring the pages in, for writing. */
  PREFETCH_WRITE(rdma_h.IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE()),
  /** Show the device the pages that are there already. */
  PREFETCH_NO_FAULT(rdma_h.IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT());

  private final int code;

  MemoryAdvice(int code) {
    this.code = code;
  }

  @Override
  public int code() {
    return code;
  }
}
