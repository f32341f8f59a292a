package dev.verbena.soft.device;

import dev.verbena.VerbsException;
import dev.verbena.internal.foreign.Memory;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The objects of all software devices of this JVM: by the address of their struct for control
 * verbs, by handle for the data path.
 */
public final class Registry {
  /** A handle is given to another object only after so many have been given back. */
  private static final int REST = 256;

  private static final ConcurrentHashMap<Long, SoftObject> BY_ADDRESS = new ConcurrentHashMap<>();
  private static final ArrayDeque<Integer> FREE = new ArrayDeque<>();
  private static volatile SoftObject[] byHandle = new SoftObject[64];
  private static int next = 1;
  private static long created;

  private Registry() {}

  /** Creates an object under the lock of its network, and adds it: its address. */
  public static long create(SoftDevice device, Supplier<? extends SoftObject> creation) {
    return device.engine.locked(() -> add(creation.get()).address());
  }

  /** Adds an object, with a handle if its struct has a field for it. */
  public static synchronized <T extends SoftObject> T add(T object) {
    if (object.handleField != null) {
      int handle = FREE.size() > REST ? FREE.remove() : next++;
      if (handle >= byHandle.length) {
        byHandle = Arrays.copyOf(byHandle, 2 * byHandle.length);
      }
      byHandle[handle] = object;
      object.struct.putInt(object.handleField, handle);
    }
    object.creation = created++;
    BY_ADDRESS.put(object.address(), object);
    object.useAll(1);
    object.begin();
    return object;
  }

  /**
   * Destroys an object.
   *
   * @throws VerbsException EINVAL if there is none of this type, EBUSY if others use it
   */
  public static void destroy(long address, Class<? extends SoftObject> type) {
    SoftObject object = at(address, type);
    object.device.engine.locked(
        () -> {
          object.requireUnused();
          object.end();
          remove(object);
        });
    object.context.events.forget(object);
  }

  /** Removes an object, which ends its use of others. Called under the lock of its network. */
  public static synchronized void remove(SoftObject object) {
    BY_ADDRESS.remove(object.address());
    object.useAll(-1);
    int handle = object.handleField == null ? 0 : object.struct.getInt(object.handleField);
    if (handle > 0 && handle < byHandle.length && object.equals(byHandle[handle])) {
      byHandle[handle] = null;
      FREE.add(handle);
    }
  }

  /**
   * Records that the program destroys an object of a lost device, which reports EIO. The object is
   * removed once no context of the device is open.
   */
  public static void release(SoftObject object) {
    SoftDevice device = object.device;
    object.isReleased = true;
    device.engine.locked(
        () -> {
          if (device.contexts.isEmpty()) {
            removeReleased(device);
          }
        });
  }

  /**
   * Removes the objects of a lost device that the program has released. The others may be in use,
   * although their context is closed: librdmacm closes its own with the network. The contexts
   * remain for ever, since whoever has destroyed an object asks its context whether the device is
   * lost.
   */
  private static synchronized void removeReleased(SoftDevice device) {
    Predicate<@Nullable SoftObject> isRemoved =
        object ->
            object != null
                && object.isReleased
                && device.equals(object.device)
                && !(object instanceof SoftContext);
    for (int handle = 1; handle < byHandle.length; handle++) {
      if (isRemoved.test(byHandle[handle])) {
        byHandle[handle] = null;
        FREE.add(handle);
      }
    }
    BY_ADDRESS.values().removeIf(isRemoved);
  }

  /**
   * The object whose struct is at an address.
   *
   * @throws VerbsException EINVAL if there is none of this type
   */
  public static <T extends SoftObject> T at(long address, Class<T> type) {
    SoftObject object = BY_ADDRESS.get(address);
    CallFailure.invalidIf(!type.isInstance(object), "no such object: it was destroyed");
    return type.cast(object);
  }

  /** The object whose struct is at an address, or null. */
  public static @Nullable SoftObject find(long address) {
    return BY_ADDRESS.get(address);
  }

  /** Returns the objects of the devices of a network, in the order of their creation. */
  public static List<SoftObject> of(Fabric network) {
    return ordered(object -> network.equals(object.device.fabric));
  }

  /** Returns the objects of a device, in the order of their creation. */
  public static List<SoftObject> of(SoftDevice device) {
    return ordered(object -> device.equals(object.device));
  }

  private static List<SoftObject> ordered(Predicate<SoftObject> isChosen) {
    return BY_ADDRESS.values().stream()
        .filter(isChosen)
        .sorted(Comparator.comparingLong(object -> object.creation))
        .toList();
  }

  /** The device of the object at an address, or null. */
  public static @Nullable SoftDevice deviceOf(long address) {
    SoftObject object = find(address);
    return object == null ? null : object.device;
  }

  /** The object whose struct is at an address, by the handle in it; or null. */
  public static @Nullable SoftObject byHandle(long address, long field) {
    SoftObject[] all = byHandle;
    int handle = Memory.getInt(address + field);
    SoftObject found = handle > 0 && handle < all.length ? all[handle] : null;
    return found != null && found.address() == address ? found : null;
  }
}
