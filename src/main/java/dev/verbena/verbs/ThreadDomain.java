package dev.verbena.verbs;

import dev.verbena.VerbsException;
import dev.verbena.internal.Explanation;
import dev.verbena.internal.life.Core;
import dev.verbena.internal.life.ObjectText;
import dev.verbena.raw.ibv_td_init_attr;
import java.lang.foreign.Arena;
import java.util.List;

/**
 * A thread domain: declares that only one thread at a time uses the objects of a {@linkplain
 * ParentDomain parent domain}, so that the provider omits locks ({@code struct ibv_td}).
 *
 * <p>Closing it calls {@code ibv_dealloc_td}. See {@code ibv_alloc_td(3)}.
 */
public final class ThreadDomain extends Resource {
  private final Context context;

  private ThreadDomain(Context context, Core core) {
    super(core);
    this.context = context;
  }

  /**
   * Allocates a thread domain: {@code ibv_alloc_td}.
   *
   * @param context the context of the device
   * @return the domain, to be closed
   */
  public static ThreadDomain allocate(Context context) {
    try (Arena arena = Arena.ofConfined()) {
      long attr = ibv_td_init_attr.allocate(arena).address();
      return Core.make(
          List.of(context),
          () -> context.verbs().ibv_alloc_td(context.address(), attr),
          context.verbs()::ibv_dealloc_td,
          core -> new ThreadDomain(context, core));
    } catch (VerbsException e) {
      throw Explanation.addIfUnsupported(e, context.device() + " does not support thread domains");
    }
  }

  /** {@return the context of the domain} */
  public Context context() {
    return context;
  }

  @Override
  public String toString() {
    return ObjectText.of(core, "thread domain of " + context.device());
  }
}
