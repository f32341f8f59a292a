package dev.verbena.verbs;

import dev.verbena.VerbsException;
import dev.verbena.internal.Explanation;
import java.lang.foreign.Arena;
import java.util.List;

/**
 * A flow action: modifies the packets of flow rules, for example decrypts them ({@code struct
 * ibv_flow_action}). Get one with {@link Context#createFlowAction}.
 *
 * <p>Closing it calls {@code ibv_destroy_flow_action}. See {@code ibv_flow_action_esp(3)}.
 */
public final class FlowAction extends Resource {
  private final Context context;

  private FlowAction(Context context, long address, Runnable release) {
    super(address, release);
    this.context = context;
  }

  static FlowAction create(Context context, EspTransform esp) {
    try (Arena arena = Arena.ofConfined()) {
      long attr = esp.allocate(arena, true).address();
      return make(
          List.of(context),
          () -> context.verbs().ibv_create_flow_action_esp(context.address(), attr),
          context.verbs()::ibv_destroy_flow_action,
          (address, release) -> new FlowAction(context, address, release));
    } catch (VerbsException e) {
      throw e.isUnsupported()
          ? Explanation.add(e, context.device() + " does not support ESP flow actions")
          : e;
    }
  }

  /**
   * Modifies the action, for all its rules: {@code ibv_modify_flow_action_esp}.
   *
   * @param esp the attributes to change; others remain
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
   * Returns the context of the action.
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
