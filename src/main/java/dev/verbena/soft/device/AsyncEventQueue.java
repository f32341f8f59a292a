package dev.verbena.soft.device;

import dev.verbena.internal.foreign.Memory;
import dev.verbena.internal.io.EventFile;
import dev.verbena.raw.ibv_async_event;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentLinkedQueue;

/** The asynchronous events of a context. */
public final class AsyncEventQueue {
  /** An event: of an object, or of a port. */
  private record Event(int type, SoftObject object, int port) {
    long element() {
      return object == null ? port : object.address();
    }
  }

  /** Events of all contexts that were taken and not acknowledged, by the object's address. */
  private static final Map<Long, Integer> UNACKNOWLEDGED = new HashMap<>();

  private final EventFile file = EventFile.open();
  private final ConcurrentLinkedQueue<Event> events = new ConcurrentLinkedQueue<>();

  public int descriptor() {
    return file.descriptor();
  }

  /** Adds an event of an object. */
  public void add(int type, SoftObject object) {
    put(new Event(type, object, 0));
  }

  /** Adds an event of a port, or of the device for port 0. */
  public void add(int type, int port) {
    put(new Event(type, null, port));
  }

  private void put(Event event) {
    events.add(event);
    file.add();
  }

  /** Writes the oldest event to a {@code struct ibv_async_event}; the result is an errno. */
  public int take(long address) {
    while (true) {
      int errno = file.take();
      if (errno != 0) {
        return errno;
      }
      synchronized (UNACKNOWLEDGED) {
        Event event = events.poll();
        if (event != null) {
          write(event, address);
          return 0;
        }
      }
    }
  }

  private void write(Event event, long address) {
    Memory.at(address, ibv_async_event.sizeof()).fill((byte) 0);
    CStruct.at(address, ibv_async_event.layout())
        .putLong("element", event.element())
        .putInt("event_type", event.type());
    if (event.object() != null) {
      UNACKNOWLEDGED.merge(event.element(), 1, Integer::sum);
    }
  }

  /** {@code ibv_ack_async_event}, whose argument does not lead to a context. */
  public static void acknowledge(long address) {
    long element = CStruct.at(address, ibv_async_event.layout()).getLong("element");
    synchronized (UNACKNOWLEDGED) {
      UNACKNOWLEDGED.computeIfPresent(element, (e, count) -> count == 1 ? null : count - 1);
      UNACKNOWLEDGED.notifyAll();
    }
  }

  /** Discards the events of an object, and waits until those taken are acknowledged. */
  public void forget(SoftObject object) {
    synchronized (UNACKNOWLEDGED) { // An event is either still queued, or counted as taken.
      events.removeIf(event -> object.equals(event.object()));
      Waiting.until(UNACKNOWLEDGED, () -> !UNACKNOWLEDGED.containsKey(object.address()));
    }
  }

  public void close() {
    file.close();
  }
}
