package dev.verbena.flow;

import dev.verbena.VerbsException;
import dev.verbena.internal.Explanation;
import dev.verbena.internal.life.Core;
import dev.verbena.internal.life.ObjectText;
import dev.verbena.verbs.Context;
import dev.verbena.verbs.Resource;
import java.lang.foreign.Arena;
import java.util.List;

/**
 * A flow action: modifies the packets of flow rules, for example decrypts them ({@code struct
 * ibv_flow_action}). Get one with {@link #on}.
 *
 * <p>Closing it calls {@code ibv_destroy_flow_action}. See {@code ibv_flow_action_esp(3)}.
 */
public final class FlowAction extends Resource {
  private final Context context;

  private FlowAction(Context context, Core core) {
    super(core);
    this.context = context;
  }

  /**
   * Creates an ESP flow action: {@code ibv_create_flow_action_esp}.
   *
   * @param context the context
   * @param esp the transformation, with a security association and a key
   * @return the action, to be closed
   */
  public static FlowAction on(Context context, EspTransform esp) {
    try (Arena arena = Arena.ofConfined()) {
      long attr = esp.allocate(arena, true).address();
      return Core.make(
          List.of(context),
          () ->
              Core.of(context)
                  .verbs()
                  .ibv_create_flow_action_esp(context.segment().address(), attr),
          Core.of(context).verbs()::ibv_destroy_flow_action,
          core -> new FlowAction(context, core));
    } catch (VerbsException e) {
      throw Explanation.addIfUnsupported(
          e, context.device() + " does not support ESP flow actions");
    }
  }

  /**
   * Modifies the action, for all its rules: {@code ibv_modify_flow_action_esp}.
   *
   * @param esp the attributes to change; others remain
   */
  public void modify(EspTransform esp) {
    try (Arena arena = Arena.ofConfined()) {
      core.whileOpen(
          () ->
              core.verbs()
                  .ibv_modify_flow_action_esp(
                      core.address(), esp.allocate(arena, false).address()));
    }
  }

  /** {@return the context of the action} */
  public Context context() {
    return context;
  }

  @Override
  public String toString() {
    return ObjectText.of(core, "flow action of " + context.device());
  }
}
