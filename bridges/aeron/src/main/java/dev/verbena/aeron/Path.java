package dev.verbena.aeron;

import dev.verbena.verbs.AddressHandle;
import io.aeron.protocol.HeaderFlyweight;
import io.aeron.protocol.SetupFlyweight;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * How the frames of a socket reach one address: by UDP until its peer has shown that UD messages
 * arrive, then by RDMA as long as the peer goes on to show it. All of it is of the thread of the
 * socket; {@link Rendezvous} takes the steps.
 */
final class Path {
  /** What a path waits for. */
  enum State {
    /** The queue of the socket. */
    QUEUE,
    /** A WELCOME. */
    WELCOME,
    /** The address handle. */
    HANDLE,
    /** The answer to a PROBE. */
    PROBED,
    /** Nothing: frames are sent by RDMA. */
    USABLE,
    /** Nothing: frames are sent by UDP as long as the path is used. */
    UDP
  }

  /** Where a SETUP frame has its MTU, which Aeron does not publish. */
  private static final int MTU_AT = 32;

  private static final VarHandle SHORT =
      MethodHandles.byteBufferViewVarHandle(short[].class, ByteOrder.LITTLE_ENDIAN);
  private static final VarHandle INT =
      MethodHandles.byteBufferViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);

  final InetSocketAddress peer;
  final Rules.Rule rule;
  final long created;

  State state;

  /** What the worker was asked for, from {@link State#QUEUE} and {@link State#HANDLE} on. */
  Pending<DatagramQueue> queue;

  Pending<AddressHandle> handle;

  /** What the last WELCOME offered; null before the first one. */
  Offer offer;

  /** Random, for the peer to repeat: of HELLO, and of PROBE. */
  long nonce;

  long challenge;

  /** Of the last HELLO and PROBE, and of the last of each that was answered. */
  int sequence;

  int welcomed;
  int answered;

  /** How many PROBEs were sent since the last that was answered. */
  int unanswered;

  long nextStep;
  long backoff;
  long lastUse;

  /** Why the path is not usable, for people. */
  String obstacle = "the peer has not answered";

  /** Whether it was reported that frames are dropped, as the rule forbids UDP. */
  boolean isReported;

  /** The longest MTU that a SETUP frame announced; 0 before the first one. */
  int streamMtu;

  Path(InetSocketAddress peer, Rules.Rule rule, long now) {
    this.peer = peer;
    this.rule = rule;
    this.state = rule == Rules.Rule.UDP ? State.UDP : State.QUEUE;
    this.nextStep = now;
    this.created = now;
    this.lastUse = now;
  }

  /** Returns the queue; null in {@link State#QUEUE}, and perhaps in {@link State#UDP}. */
  DatagramQueue queue() {
    return queue == null ? null : queue.result();
  }

  /** Sends a frame by RDMA; false if the queue is full, or failed. */
  boolean send(ByteBuffer frame) {
    return queue.result().send(frame, handle.result(), offer);
  }

  /** Returns the longest frame that the path carries, once it has an offer. */
  int maximum() {
    return Math.min(offer.maximum(), queue.result().maximum());
  }

  /** Returns whether a frame has been given that announces an MTU, which is remembered. */
  boolean noteMtu(ByteBuffer frame) {
    boolean isSetup =
        frame.remaining() >= SetupFlyweight.HEADER_LENGTH
            && type(frame) == HeaderFlyweight.HDR_TYPE_SETUP;
    if (isSetup) {
      int at = frame.position() + MTU_AT;
      streamMtu = Math.max(streamMtu, (int) INT.get(frame, at));
    }
    return isSetup;
  }

  /** Returns whether a frame is of a stream, and not one that controls it. */
  static boolean isData(ByteBuffer frame) {
    return frame.remaining() >= HeaderFlyweight.MIN_HEADER_LENGTH
        && type(frame) <= HeaderFlyweight.HDR_TYPE_DATA;
  }

  private static int type(ByteBuffer frame) {
    int at = frame.position() + HeaderFlyweight.TYPE_FIELD_OFFSET;
    return Short.toUnsignedInt((short) SHORT.get(frame, at));
  }

  @Override
  public String toString() {
    return "path to " + peer + ": " + state;
  }
}
