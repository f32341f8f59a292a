package dev.verbena.aeron;

import dev.verbena.verbs.AddressHandle;
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

  /** What the worker was asked for. */
  static final class Preparation {
    volatile AddressHandle handle;
    volatile String failure;
  }

  private static final int TYPE_AT = 6;
  private static final int SETUP = 5;
  private static final int MTU_AT = 32;
  private static final int LAST_OF_DATA = 1;

  final InetSocketAddress peer;
  final Rules.Rule rule;
  final long created;

  State state;
  Queues.Request request;
  DatagramQueue queue;
  Offer offer;
  Preparation preparation;
  AddressHandle handle;

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
    this.nextStep = rule == Rules.Rule.UDP ? now + Long.MAX_VALUE / 2 : now;
    this.created = now;
    this.lastUse = now;
  }

  /** Returns whether a frame has been given that announces an MTU, which is remembered. */
  boolean noteMtu(ByteBuffer frame) {
    int at = frame.position();
    if (frame.remaining() < MTU_AT + Integer.BYTES || type(frame) != SETUP) {
      return false;
    }
    int mtu = frame.getInt(at + MTU_AT);
    if (frame.order() == ByteOrder.BIG_ENDIAN) {
      mtu = Integer.reverseBytes(mtu);
    }
    streamMtu = Math.max(streamMtu, mtu);
    return true;
  }

  /** Returns whether a frame is of a stream, and not one that controls it. */
  static boolean isData(ByteBuffer frame) {
    return frame.remaining() > TYPE_AT + 1 && type(frame) <= LAST_OF_DATA;
  }

  private static int type(ByteBuffer frame) {
    int at = frame.position() + TYPE_AT;
    return Byte.toUnsignedInt(frame.get(at)) | Byte.toUnsignedInt(frame.get(at + 1)) << Byte.SIZE;
  }

  @Override
  public String toString() {
    return "path to " + peer + ": " + state;
  }
}
