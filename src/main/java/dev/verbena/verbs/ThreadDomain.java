package dev.verbena.verbs;

import dev.verbena.VerbsException;
import dev.verbena.raw.ibv_td_init_attr;
import java.lang.foreign.Arena;
import java.util.List;

/**
 * A promise that one thread at a time works with the objects of a {@linkplain
 * ProtectionDomain#parentDomain parent domain}, so that the provider need not lock: {@code struct
 * ibv_td}.
 *
 * <p>Closing it calls {@code ibv_dealloc_td}.
 */
public final class ThreadDomain extends Resource {
  private final Context context;

  private ThreadDomain(Context context, long address) {
    super(address, () -> context.verbs().ibv_dealloc_td(address));
    this.context = context;
  }

  static ThreadDomain allocate(Context context) {
    try (Arena arena = Arena.ofConfined()) {
      long attr = ibv_td_init_attr.allocate(arena).address();
      return make(
          List.of(context),
          () -> new ThreadDomain(context, context.verbs().ibv_alloc_td(context.address(), attr)));
    } catch (VerbsException e) {
      throw e.isUnsupported() ? e.explained(context.device() + " has no thread domains") : e;
    }
  }

  /**
   * The context that the domain was made from.
   *
   * @return the context
   */
  public Context context() {
    return context;
  }

  @Override
  public String toString() {
    return "thread domain of " + context.device();
  }
}
