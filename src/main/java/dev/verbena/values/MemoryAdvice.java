package dev.verbena.values;

import dev.verbena.NativeConstant;
import dev.verbena.raw.rdma_h;

/** Advice on memory with on-demand paging: {@code enum ib_uverbs_advise_mr_advice}. */
public enum MemoryAdvice implements NativeConstant {
  /** Fault the pages in for reading. */
  PREFETCH(rdma_h.IBV_ADVISE_MR_ADVICE_PREFETCH()),
  /** Fault the pages in for writing. */
  PREFETCH_WRITE(rdma_h.IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE()),
  /** Map only the pages that are already present. */
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
