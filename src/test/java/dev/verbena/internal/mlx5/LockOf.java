package dev.verbena.internal.mlx5;

import java.lang.reflect.Field;

/** Whether a thread has the lock of a queue. */
final class LockOf {
  private LockOf() {}

  static boolean isHeld(Object queue) {
    try {
      Object lock = field(queue, "lock");
      return (int) field(field(lock, "turn"), "inside") != 0
          || (int) field(field(lock, "others"), "held") != 0;
    } catch (ReflectiveOperationException e) {
      throw new LinkageError("no such lock", e);
    }
  }

  private static Object field(Object owner, String name) throws ReflectiveOperationException {
    Field field = owner.getClass().getDeclaredField(name);
    field.setAccessible(true);
    return field.get(owner);
  }
}
