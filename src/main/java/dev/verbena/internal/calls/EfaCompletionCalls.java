package dev.verbena.internal.calls;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.internal.foreign.Call;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.internal.foreign.StackSpace;
import java.lang.foreign.MemorySegment;

/** The function pointers of a {@code struct efadv_cq}, which read the current completion. */
public final class EfaCompletionCalls {
  private static final long READ_SGID = 8;
  private static final long IS_UNSOLICITED = 16;

  private final long cq;
  private final MemorySegment readSgid;
  private final MemorySegment isUnsolicited;

  /**
   * Reads the pointers.
   *
   * @param cq the {@code efadv_cq}
   */
  public EfaCompletionCalls(long cq) {
    this.cq = Memory.notNull(cq);
    this.readSgid = MemorySegment.ofAddress(Memory.getLong(cq + READ_SGID));
    this.isUnsolicited = MemorySegment.ofAddress(Memory.getLong(cq + IS_UNSOLICITED));
  }

  /** Calls the inline function of the same name; the result is 0 or a negative errno. */
  public int efadv_wc_read_sgid(long gid) {
    return (int) Call.plain(use(readSgid, "efadv_wc_read_sgid"), cq, gid);
  }

  public boolean efadv_wc_is_unsolicited() {
    return (byte) Call.plain(use(isUnsolicited, "efadv_wc_is_unsolicited"), cq) != 0;
  }

  private static MemorySegment use(MemorySegment pointer, String function) {
    StackSpace.requireForCall();
    if (pointer.address() == 0) {
      throw new VerbsException(
          function, Errno.EOPNOTSUPP, "the completion queue was created without this field");
    }
    return pointer;
  }
}
