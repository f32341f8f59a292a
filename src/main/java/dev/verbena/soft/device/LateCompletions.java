package dev.verbena.soft.device;

import dev.verbena.raw.rdma_h;
import dev.verbena.soft.engine.Timer;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * The completions that wait before they are in their queue, by {@link Delays}. Those of a send
 * queue or of a receive queue keep their order; others pass them. Those that are due at the same
 * time arrive together, with one event.
 */
final class LateCompletions {
  private record Late(Completion completion, boolean solicited, long due) {
    boolean isOfStream(Completion other) {
      return Objects.equals(completion.owner, other.owner)
          && isReceive(completion) == isReceive(other);
    }
  }

  private final SoftCompletionQueue queue;
  private final Delays delays;
  private final Timer timer;
  private final List<Late> waiting = new ArrayList<>();

  /** What is done after the completions of a queue pair. */
  private final Map<Object, Runnable> following = new LinkedHashMap<>();

  LateCompletions(SoftCompletionQueue queue, Delays delays) {
    this.queue = queue;
    this.delays = delays;
    timer = new Timer(queue.device.engine.timers(), this::expired);
  }

  private static boolean isReceive(Completion completion) {
    return (completion.opcode & rdma_h.IBV_WC_RECV()) != 0;
  }

  /** Keeps a copy of a completion for some time; false if it is to be added to the queue now. */
  boolean keep(Completion completion, boolean solicited) {
    if (waiting.isEmpty() && !delays.isOn()) {
      return false;
    }
    long now = queue.device.engine.now();
    long due = now + delays.completion(completion.wrId, completion.queuePair);
    boolean follows = false; // Also one that is due, and which the timer has not added yet.
    for (Late late : waiting) {
      if (late.isOfStream(completion)) {
        follows = true;
        due = Math.max(due, late.due);
      }
    }
    if (due == now && !follows) {
      return false;
    }
    Completion copy = new Completion();
    copy.copyOf(completion);
    waiting.add(new Late(copy, solicited, due));
    if (!timer.isRunning()) {
      timer.start(due);
    }
    return true;
  }

  /** Adds all that wait: the first is due, the others come early rather than late. */
  private void expired() {
    List<Late> due = List.copyOf(waiting);
    waiting.clear();
    boolean event = false;
    for (Late late : due) {
      event |= queue.enqueue(late.completion, late.solicited);
    }
    if (event) {
      queue.announce();
    }
    List<Runnable> actions = List.copyOf(following.values());
    following.clear();
    actions.forEach(Runnable::run);
  }

  void stop() {
    timer.stop();
  }

  /** Runs an action after the completions of a queue pair are in the queue, of which some wait. */
  void after(Object owner, Runnable action) {
    if (waiting.stream().anyMatch(late -> owner.equals(late.completion.owner))) {
      following.put(owner, action);
    } else {
      action.run();
    }
  }

  /** Discards those of a queue pair that is reset or destroyed. */
  void forget(Object owner) {
    for (Late late : waiting) {
      if (owner.equals(late.completion.owner)) {
        late.completion.freeSlot();
      }
    }
    waiting.removeIf(late -> owner.equals(late.completion.owner));
    following.remove(owner);
  }
}
