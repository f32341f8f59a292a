package dev.verbena.soft;

import dev.verbena.soft.engine.TimerQueue;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** What RDMA CM of a network still holds when all of its users have closed what they had. */
public final class CmRemains {
  private static final List<String> OF_AGENT =
      List.of("exchanges", "byPeer", "byQueuePair", "lookups", "questions");
  private static final List<String> QUOTAS = List.of("requests", "timewait");

  private CmRemains() {}

  /** Returns what there is, such as {@code exchanges={...}}; empty if there is nothing. */
  public static List<String> of(SoftNetwork network) {
    return network.engine.locked(() -> find(network));
  }

  private static List<String> find(SoftNetwork network) {
    List<String> found = new ArrayList<>();
    Object manager = network.provider.manager();
    add(found, "manager", manager, "handles");
    add(found, "manager", manager, "channels");
    add(found, "ports", get(manager, "ports"), "bound");
    ((Map<?, ?>) get(manager, "agents"))
        .forEach(
            (device, agent) -> {
              OF_AGENT.forEach(name -> add(found, device.toString(), agent, name));
              for (String quota : QUOTAS) {
                Object places = get(agent, quota);
                add(found, device + " " + quota, places, "taken");
                if (!get(places, "all").equals(0)) {
                  found.add(device + " " + quota + ": " + get(places, "all"));
                }
              }
            });
    TimerQueue timers = network.engine.timers();
    if (!timers.isEmpty()) {
      found.add("a timer for " + timers.earliest());
    }
    return found;
  }

  private static void add(List<String> found, String owner, Object object, String field) {
    Map<?, ?> map = (Map<?, ?>) get(object, field);
    if (!map.isEmpty()) {
      found.add(owner + " " + field + "=" + map);
    }
  }

  private static Object get(Object object, String name) {
    try {
      Field field = object.getClass().getDeclaredField(name);
      field.setAccessible(true);
      return field.get(object);
    } catch (ReflectiveOperationException e) {
      throw new LinkageError(e.getMessage(), e);
    }
  }
}
