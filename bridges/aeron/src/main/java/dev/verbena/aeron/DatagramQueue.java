package dev.verbena.aeron;

import dev.verbena.VerbsException;
import dev.verbena.address.GlobalRoutingHeader;
import dev.verbena.address.Mtu;
import dev.verbena.address.QueuePairAddress;
import dev.verbena.util.ReceiveRing;
import dev.verbena.util.SendRing;
import dev.verbena.values.AccessFlag;
import dev.verbena.values.CompletionFlag;
import dev.verbena.values.QueuePairCapacity;
import dev.verbena.values.QueuePairType;
import dev.verbena.verbs.AddressHandle;
import dev.verbena.verbs.CompletionQueue;
import dev.verbena.verbs.Completions;
import dev.verbena.verbs.MemoryRegion;
import dev.verbena.verbs.ProtectionDomain;
import dev.verbena.verbs.QueuePair;
import dev.verbena.verbs.QueuePairSetup;
import dev.verbena.verbs.ReceiveList;
import dev.verbena.verbs.SendList;
import dev.verbena.verbs.SendRequest;
import java.lang.System.Logger.Level;
import java.nio.ByteBuffer;
import java.util.random.RandomGenerator;

/**
 * A UD queue pair with the memory of its messages. Frames are copied into it and out of it. It is
 * created and closed by the {@link Worker}, and used by the thread of its socket.
 */
final class DatagramQueue {
  private static final int SENDS = 128;
  private static final int SIGNAL_EACH = 16;
  private static final int BATCH = 16;
  private static final int MAX_INLINE = 188;
  private static final int ALIGNMENT = 64;

  /** Q_Keys with the highest bit are privileged. */
  private static final int QUEUE_KEYS = Integer.MAX_VALUE;

  private final LocalDevice device;
  private final boolean isOfGroup;
  private final OpenObjects objects;
  private final ProtectionDomain domain;
  private final CompletionQueue sendCompletions;
  private final CompletionQueue receiveCompletions;
  private final QueuePair queuePair;
  private final QueuePairSetup setup;
  private final QueuePairAddress address;
  private final int maximum;

  /** The longest message that may arrive: nobody tells the senders of a group the MTU of here. */
  private final int longest;

  /** Slots of received messages, then slots of messages that are sent. */
  private final MemoryRegion region;

  private final ByteBuffer memory;
  private final int slotSize;
  private final int receiveSlots;

  private final SendList sends;
  private final SendRing sendRing;
  private final int maxInline;
  private final ByteBuffer[] inlineData;

  /** Whether the request of a slot has inline data. */
  private final boolean[] isInline = new boolean[SENDS];

  private final ReceiveRing receiveRing;
  private final Completions sent = new Completions(BATCH);
  private final Completions received = new Completions(BATCH);

  /** The completion of {@link #received} that is handled. */
  private int current = -1;

  private boolean isLeft;
  private volatile String failure;

  /**
   * Creates the queue pair and posts its receive requests.
   *
   * @param receiveSlots the number of receive requests
   * @param group the group whose messages it receives or sends; null if it is not one of a group
   */
  DatagramQueue(LocalDevice device, int receiveSlots, Group group) {
    assert Worker.isCurrent();
    this.device = device;
    this.receiveSlots = receiveSlots;
    this.isOfGroup = group != null && group.isMember();
    this.maximum = device.mtu();
    this.longest = isOfGroup ? Mtu.MTU_4096.bytes() : maximum;
    this.slotSize = Math.ceilDiv(GlobalRoutingHeader.SIZE + longest, ALIGNMENT) * ALIGNMENT;
    try (OpenObjects made = new OpenObjects()) {
      domain = made.add(device.context().allocateProtectionDomain());
      sendCompletions = made.add(queue(device, SENDS));
      receiveCompletions = made.add(queue(device, receiveSlots));
      region =
          made.add(
              domain.allocateMemory(
                  (long) (receiveSlots + SENDS) * slotSize, AccessFlag.LOCAL_WRITE));
      memory = region.memory().asByteBuffer();
      queuePair = made.add(queuePair());
      maxInline = Math.min(MAX_INLINE, queuePair.capacity().maxInlineData());
      sends = new SendList(SENDS, 1, maxInline);
      sendRing = new SendRing(queuePair, sends, 0);
      for (int i = 0; i < SENDS; i++) {
        format(i, false);
      }
      inlineData = new ByteBuffer[maxInline == 0 ? 0 : SENDS];
      for (int i = 0; i < inlineData.length; i++) {
        inlineData[i] = sends.inlineData(i).asByteBuffer();
      }
      setup = queuePair.setup().port(device.port()).gid(device.gidIndex());
      int random = RandomGenerator.getDefault().nextInt() & QUEUE_KEYS;
      setup.queueKey(isOfGroup ? group.queueKey() : random);
      setup.activate();
      if (isOfGroup) {
        queuePair.attachMulticast(group.gid(), 0);
      }
      address = setup.address();
      receiveRing = new ReceiveRing(queuePair, receives());
      receiveRing.start();
      objects = made.handOver();
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
    return QueuePair.builder(domain, QueuePairType.UD)
        .sendCompletions(sendCompletions)
        .receiveCompletions(receiveCompletions)
        .capacity(capacity)
        .create();
  }

  private ReceiveList receives() {
    ReceiveList receives = new ReceiveList(receiveSlots, 1);
    for (int i = 0; i < receiveSlots; i++) {
      receives.local(i, region, (long) i * slotSize, GlobalRoutingHeader.SIZE + longest);
    }
    return receives;
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

  /** Returns the longest message that can be sent, and that a peer may be offered to send. */
  int maximum() {
    return maximum;
  }

  /**
   * Creates an address handle, which is closed with the queue at the latest.
   *
   * @param hops how many routers the messages may pass, and one
   */
  AddressHandle handleTo(QueuePairAddress remote, int hops) {
    assert Worker.isCurrent();
    return domain.createAddressHandle(setup.hopLimit(hops).pathTo(remote));
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
    if (failure != null) {
      return false;
    }
    try {
      int slot = nextSlot();
      if (slot < 0) {
        int _ = sendRing.post(); // What the device had no room for, or nothing ever completes.
        return false;
      }
      int length = data.remaining();
      boolean fits = length <= maxInline;
      if (fits != isInline[slot]) {
        format(slot, fits);
      }
      if (fits) {
        inlineData[slot].put(0, data, data.position(), length);
        sends.inlineLength(slot, length);
      } else {
        int at = sendAt(slot);
        memory.put(at, data, data.position(), length);
        sends.local(slot, region, at, length);
      }
      sends.to(slot, handle, to.address().number(), to.address().queueKey());
      sends.immediate(slot, to.cookie());
      int _ = sendRing.post();
      return true;
    } catch (RuntimeException e) { // Whatever it is, UDP is the remedy.
      fail("a post failed: " + e);
      return false;
    }
  }

  /** Formats a request, of which each message then changes what differs. */
  private void format(int slot, boolean inline) {
    SendRequest request = sends.sendWithImmediate(slot, 0);
    if (inline) {
      request.inline(0);
    } else {
      request.local(region, sendAt(slot), 0);
    }
    if (slot % SIGNAL_EACH == 0) {
      request.signaled();
    }
    isInline[slot] = inline;
  }

  private int sendAt(int slot) {
    return (receiveSlots + slot) * slotSize;
  }

  /** Returns a slot whose message has been sent; -1 if there is none, or the queue failed. */
  private int nextSlot() {
    int slot = sendRing.next();
    while (slot < 0 && sendCompletions.poll(sent) > 0) {
      if (!areGood(sent)) {
        return slot;
      }
      int _ = sendRing.completed(sent);
      slot = sendRing.next();
    }
    return slot;
  }

  /** Returns whether all requests of a batch succeeded; if not, the queue has failed. */
  private boolean areGood(Completions batch) {
    for (int i = 0; i < batch.count(); i++) {
      if (!batch.isSuccess(i)) {
        fail(batch.describe(i));
        return false;
      }
    }
    return true;
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
      int _ = receiveRing.handle(received, (_, _, _) -> true); // The batch before.
      current = 0;
      return receiveCompletions.poll(received) > 0 && areGood(received);
    } catch (RuntimeException e) {
      fail("a poll failed: " + e);
      return false;
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

  /** Returns whether messages are those of a group. */
  boolean isOfGroup() {
    return isOfGroup;
  }

  /** Returns the IPv4 address of the sender, which is at the end of the header. */
  int sourceIp() {
    return memory.getInt(offset() - 2 * Integer.BYTES);
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
    try {
      objects.close();
    } finally {
      device.release(this);
    }
  }

  @Override
  public String toString() {
    return queuePair.toString();
  }
}
