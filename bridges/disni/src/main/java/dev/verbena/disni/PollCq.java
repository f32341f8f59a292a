package dev.verbena.disni;

import com.ibm.disni.verbs.IbvWC;
import com.ibm.disni.verbs.SVCPollCq;
import dev.verbena.values.CompletionFlag;
import dev.verbena.values.CompletionStatus;
import dev.verbena.verbs.Completions;
import java.io.IOException;

/** The polling of a completion queue into the program's objects. */
final class PollCq extends SVCPollCq {
  private static final System.Logger LOG = System.getLogger("dev.verbena.disni");
  private static final CompletionFlag[] FLAGS = {
    CompletionFlag.GRH, CompletionFlag.WITH_IMM, CompletionFlag.IP_CSUM_OK, CompletionFlag.WITH_INV
  };

  private final BridgeCq cq;
  private final IbvWC[] into;
  private final int limit;
  private final Completions completions;
  private boolean valid = true;
  private int polls;

  PollCq(BridgeCq cq, IbvWC[] into, int limit) {
    this.cq = cq;
    this.into = into;
    this.limit = limit;
    this.completions = new Completions(Math.max(limit, 1));
  }

  @Override
  public SVCPollCq execute() throws IOException {
    polls = 0;
    Call.requireValid(valid, "poll");
    Failures.requireOpen(cq.isOpen(), "completion queue");
    try {
      polls = cq.queue().poll(completions, limit);
    } catch (RuntimeException e) {
      throw Failures.io(e);
    }
    for (int i = 0; i < polls; i++) {
      if (!completions.isSuccess(i)) {
        warn(i);
      }
      copy(i);
    }
    return this;
  }

  /** DiSNI's endpoints, and many programs, do not look at the status, and wait on. */
  private void warn(int i) {
    if (completions.status(i) != CompletionStatus.WR_FLUSH_ERR) {
      LOG.log(System.Logger.Level.WARNING, completions.describe(i));
    }
  }

  /** Copies all fields, of failures, too: DiSNI's provider leaves those of the last success. */
  private void copy(int i) {
    if (into[i] == null) {
      into[i] = new IbvWC(); // The completion would be lost.
    }
    IbvWC wc = into[i];
    wc.setWr_id(completions.id(i));
    wc.setStatus(completions.statusCode(i));
    wc.setOpcode(completions.opcodeCode(i));
    wc.setVendor_err(completions.vendorError(i));
    wc.setByte_len((int) completions.byteLength(i));
    wc.setImm_data(WireOrder.of(completions.immediate(i)));
    wc.setQp_num(completions.queuePairNumber(i));
    wc.setSrc_qp(completions.sourceQueuePair(i));
    wc.setWc_flags(flags(i));
    wc.setPkey_index((short) completions.pkeyIndex(i));
    wc.setSlid((short) completions.sourceLid(i));
    wc.setSl((short) completions.serviceLevel(i));
    wc.setDlid_path_bits((short) completions.destinationPathBits(i));
  }

  private int flags(int i) {
    long bits = 0;
    for (CompletionFlag flag : FLAGS) {
      if (completions.has(i, flag)) {
        bits |= flag.bit();
      }
    }
    return (int) bits;
  }

  @Override
  public int getPolls() {
    return polls;
  }

  @Override
  public boolean isValid() {
    return valid;
  }

  @Override
  public SVCPollCq free() {
    valid = false;
    return this;
  }
}
