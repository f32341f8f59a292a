package dev.verbena.verbs;

import dev.verbena.VerbsException;
import java.lang.foreign.Arena;
import java.util.List;

/**
 * What flow rules do to packets besides bringing them somewhere, such as decrypting them: {@code
 * struct ibv_flow_action}.
 *
 * <p>Closing it calls {@code ibv_destroy_flow_action}.
 */
public final class FlowAction extends Resource {
  private final Context context;

  private FlowAction(Context context, long address) {
    super(address, () -> context.verbs().ibv_destroy_flow_action(address));
    this.context = context;
  }

  static FlowAction create(Context context, EspTransform esp) {
    try (Arena arena = Arena.ofConfined()) {
      long attr = esp.allocate(arena, true).address();
      return make(
          List.of(context),
          () ->
              new FlowAction(
                  context, context.verbs().ibv_create_flow_action_esp(context.address(), attr)));
    } catch (VerbsException e) {
      throw e.isUnsupported() ? e.explained(context.device() + " does not transform ESP") : e;
    }
  }

  /**
   * Changes what is done, for all rules with this action: {@code ibv_modify_flow_action_esp}.
   *
   * @param esp what to change; what it does not say stays
   */
  public void modify(EspTransform esp) {
    try (Arena arena = Arena.ofConfined()) {
      whileOpen(
          () ->
              context
                  .verbs()
                  .ibv_modify_flow_action_esp(address(), esp.allocate(arena, false).address()));
    }
  }

  /**
   * The context that the action was made from.
   *
   * @return the context
   */
  public Context context() {
    return context;
  }

  @Override
  public String toString() {
    return "flow action of " + context.device();
  }
}
