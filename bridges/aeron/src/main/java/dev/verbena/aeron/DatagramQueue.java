package dev.verbena.aeron;

import dev.verbena.VerbsException;
import dev.verbena.address.GlobalRoutingHeader;
import dev.verbena.address.QueuePairAddress;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.CompletionFlag;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairType;
import dev.verbena.verbs.AddressHandle;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.QueuePairSetup;
import dev.verbena.verbs.ReceiveList;
import dev.verbena.verbs.SendList;
import java.lang.System.Logger.Level;
import java.nio.ByteBuffer;
import java.util.HashSet;
import java.util.Set;
import java.util.random.RandomGenerator;

/**
 * A UD queue pair with the memory of its messages. Frames are copied into it and out of it. It is
 * created and closed by the {@link Worker}, and used by the thread of its socket.
 */
final class DatagramQueue {
  private static final int SENDS = 128;
  private static final int SIGNAL_EACH = 16;
  private static final int REAP_FROM = SENDS / 2;
  private static final int BATCH = 16;
  private static final int MAX_INLINE = 188;
  private static final int ALIGNMENT = 64;

  /** Q_Keys with the highest bit are privileged. */
  private static final int QUEUE_KEYS = Integer.MAX_VALUE;

  private final LocalDevice device;
  private final CompletionQueue sendCompletions;
  private final CompletionQueue receiveCompletions;
  private final QueuePair queuePair;
  private final QueuePairSetup setup;
  private final QueuePairAddress address;
  private final MemoryRegion region;
  private final int maximum;
  private final Set<AddressHandle> handles = new HashSet<>();

  private final ByteBuffer memory;
  private final int slotSize;
  private final int receiveSlots;
  private final SendList sends = new SendList(SENDS, 1);
  private final SendList inlineSends;
  private final ByteBuffer[] inlineData;
  private final int maxInline;
  private final ReceiveList receives;
  private final Completions sent = new Completions(BATCH);
  private final Completions received = new Completions(BATCH);

  private long posted;
  private long completed;

  /** The completion of {@link #received} that is handled, and the first slot of the batch. */
  private int current = -1;

  private int firstOfBatch;

  private boolean isLeft;
  private volatile String failure;

  /**
   * Creates the queue pair and posts its receive requests.
   *
   * @param receiveSlots the number of receive requests
   */
  DatagramQueue(LocalDevice device, int receiveSlots) {
    assert Worker.isCurrent();
    this.device = device;
    this.receiveSlots = receiveSlots;
    this.maximum = device.mtu();
    this.slotSize = Math.ceilDiv(GlobalRoutingHeader.SIZE + maximum, ALIGNMENT) * ALIGNMENT;
    this.receives = new ReceiveList(receiveSlots, 1);
    try (Unfinished made = new Unfinished()) {
      sendCompletions = made.add(queue(device, SENDS));
      receiveCompletions = made.add(queue(device, receiveSlots));
      queuePair = made.add(queuePair());
      maxInline = Math.min(MAX_INLINE, queuePair.capacity().maxInlineData());
      region =
          made.add(
              device
                  .domain()
                  .allocateMemory(
                      (long) (receiveSlots + SENDS) * slotSize, AccessFlag.LOCAL_WRITE));
      memory = region.memory().asByteBuffer();
      inlineSends = new SendList(SENDS, 1, maxInline);
      inlineData = new ByteBuffer[maxInline == 0 ? 0 : SENDS];
      format();
      setup = queuePair.setup().port(device.port()).gid(device.gidIndex());
      setup.queueKey(RandomGenerator.getDefault().nextInt() & QUEUE_KEYS);
      setup.activate();
      address = setup.address();
      post(0, receiveSlots);
      made.keep();
    }
  }

  private static CompletionQueue queue(LocalDevice device, int entries) {
    return device.context().completionQueue(entries).withoutCapacityWarning().create();
  }

  /** Creates the queue pair, with inline data if the device has room for it. */
  private QueuePair queuePair() {
    QueuePairCapacity capacity = QueuePairCapacity.of(SENDS).withReceiveRequests(receiveSlots);
    try {
      return queuePair(capacity.withMaxInlineData(MAX_INLINE));
    } catch (VerbsException e) {
      Log.LOGGER.log(Level.DEBUG, "without inline data on " + device, e);
      return queuePair(capacity);
    }
  }

  private QueuePair queuePair(QueuePairCapacity capacity) {
    return QueuePair.builder(device.domain(), QueuePairType.UD)
        .sendCompletions(sendCompletions)
        .receiveCompletions(receiveCompletions)
        .capacity(capacity)
        .create();
  }

  private void format() {
    for (int i = 0; i < receiveSlots; i++) {
      receives.local(i, region, (long) i * slotSize, GlobalRoutingHeader.SIZE + maximum);
      receives.id(i, i);
    }
    for (int i = 0; i < SENDS; i++) {
      sends.sendWithImmediate(i, 0).local(region, sendAt(i), 0);
      if (maxInline > 0) {
        inlineSends.sendWithImmediate(i, 0).inline(0);
        inlineData[i] = inlineSends.inlineData(i).asByteBuffer();
      }
      if (i % SIGNAL_EACH == SIGNAL_EACH - 1) {
        sends.signaled(i);
        if (maxInline > 0) {
          inlineSends.signaled(i);
        }
      }
    }
  }

  private int sendAt(int slot) {
    return (receiveSlots + slot) * slotSize;
  }

  LocalDevice device() {
    return device;
  }

  QueuePairAddress address() {
    return address;
  }

  int number() {
    return queuePair.number();
  }

  /** Returns the longest message that can be sent and received. */
  int maximum() {
    return maximum;
  }

  /** Creates an address handle. Called by the {@link Worker}. */
  AddressHandle handleTo(QueuePairAddress remote) {
    assert Worker.isCurrent();
    AddressHandle handle = device.domain().createAddressHandle(setup.pathTo(remote));
    handles.add(handle);
    return handle;
  }

  /** Closes an address handle that no request names any more. Called by the {@link Worker}. */
  void close(AddressHandle handle) {
    assert Worker.isCurrent();
    if (handles.remove(handle)) {
      handle.close();
    }
  }

  /** Returns why the queue cannot be used any more; null if it can. */
  String failure() {
    return failure;
  }

  void fail(String reason) {
    if (failure == null) {
      failure = reason;
    }
  }

  /** Returns whether this is the first time that the socket leaves the failed queue. */
  boolean leave() {
    boolean isFirst = !isLeft;
    isLeft = true;
    return isFirst;
  }

  // Sending

  /**
   * Sends the rest of a buffer, whose position is not changed.
   *
   * @return false if the send queue is full, or the queue failed
   */
  boolean send(ByteBuffer data, AddressHandle handle, Offer to) {
    if (posted - completed >= REAP_FROM) {
      reap();
    }
    if (posted - completed == SENDS || failure != null) {
      return false;
    }
    int slot = (int) (posted & (SENDS - 1));
    int length = data.remaining();
    SendList list;
    if (length <= maxInline) {
      list = inlineSends;
      inlineData[slot].put(0, data, data.position(), length);
      list.inlineLength(slot, length);
    } else {
      list = sends;
      int at = sendAt(slot);
      memory.put(at, data, data.position(), length);
      list.local(slot, region, at, length);
    }
    list.to(slot, handle, to.address().number(), to.address().queueKey());
    list.immediate(slot, to.cookie());
    try {
      int count = queuePair.post(list, slot, 1);
      posted += count;
      return count == 1;
    } catch (RuntimeException e) { // Whatever it is, UDP is the remedy.
      fail("a post failed: " + e);
      return false;
    }
  }

  private void reap() {
    try {
      while (sendCompletions.poll(sent) > 0) {
        for (int i = 0; i < sent.count(); i++) {
          if (!sent.isSuccess(i)) {
            fail(sent.describe(i));
            return;
          }
          completed += SIGNAL_EACH;
        }
      }
    } catch (RuntimeException e) {
      fail("a poll failed: " + e);
    }
  }

  // Receiving

  /**
   * Proceeds to the next message.
   *
   * @return false if there is none
   */
  boolean next() {
    if (failure != null) { // What is left of the batch may be completions of that failure.
      return false;
    }
    if (hasMore()) {
      current++;
      return true;
    }
    return poll();
  }

  private boolean poll() {
    try {
      int handled = received.count();
      if (handled > 0) {
        post(firstOfBatch, handled);
        firstOfBatch = (firstOfBatch + handled) % receiveSlots;
      }
      current = 0;
      if (receiveCompletions.poll(received) == 0) {
        return false;
      }
      for (int i = 0; i < received.count(); i++) {
        if (!received.isSuccess(i)) {
          fail(received.describe(i));
          return false;
        }
      }
      return true;
    } catch (RuntimeException e) {
      fail("a poll failed: " + e);
      return false;
    }
  }

  /** Posts receive requests of consecutive slots, which may go on at the first slot. */
  private void post(int first, int count) {
    int beforeEnd = Math.min(count, receiveSlots - first);
    int done = queuePair.post(receives, first, beforeEnd);
    if (done == beforeEnd && beforeEnd < count) {
      done += queuePair.post(receives, 0, count - beforeEnd);
    }
    if (done < count) {
      throw new IllegalStateException("the receive queue of " + queuePair + " is full");
    }
  }

  /** Returns whether more messages have been polled than were proceeded to. */
  boolean hasMore() {
    return current + 1 < received.count();
  }

  /** Returns whether the current message has a cookie. */
  boolean hasCookie() {
    return received.has(current, CompletionFlag.WITH_IMM);
  }

  int cookie() {
    return received.immediate(current);
  }

  int sourceNumber() {
    return received.sourceQueuePair(current);
  }

  int length() {
    return (int) received.byteLength(current) - GlobalRoutingHeader.SIZE;
  }

  /** Returns the memory of the current message, which begins at {@link #offset}. */
  ByteBuffer memory() {
    return memory;
  }

  int offset() {
    return (int) received.id(current) * slotSize + GlobalRoutingHeader.SIZE;
  }

  /** Closes all. Called by the {@link Worker}. */
  void close() {
    assert Worker.isCurrent();
    fail("closed");
    try (Unfinished all = new Unfinished()) {
      all.add(sendCompletions);
      all.add(receiveCompletions);
      all.add(region);
      handles.forEach(all::add);
      all.add(queuePair);
      handles.clear();
    } finally {
      device.release(this);
    }
  }

  @Override
  public String toString() {
    return queuePair.toString();
  }
}
