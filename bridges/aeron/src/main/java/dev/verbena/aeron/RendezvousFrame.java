package dev.verbena.aeron;

import dev.verbena.address.QueuePairAddress;
import java.io.IOException;
import java.lang.System.Logger.Level;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.AlreadyConnectedException;
import java.nio.channels.DatagramChannel;

/**
 * A frame of the rendezvous: a header of Aeron with a type that Aeron does not use, and all fields
 * in each kind of frame, so that no answer is longer than what it answers.
 *
 * <pre>
 *  0  length (4), version (1), kind (1), type (2)   Aeron's header
 *  8  magic (4), version of the rendezvous (4)
 * 16  nonce (8): random, of the sender's path
 * 24  sequence (4): of the HELLO or PROBE that is sent or answered
 * 28  the sender's queue pair number (4), in HELLO
 * 32  cookie (4), maximum message (4), address of the queue pair (36), in WELCOME
 * </pre>
 */
final class RendezvousFrame {
  /** The kinds of frames. */
  enum Kind {
    /** By UDP: asks for the address of the peer's queue pair. */
    HELLO,
    /** By UDP: answers HELLO. */
    WELCOME,
    /** A UD message: shows that messages arrive. */
    PROBE,
    /** By UDP: answers PROBE. */
    PROBED,
    /** By UDP: the socket that answered is being closed. */
    BYE;

    private static final Kind[] ALL = values();
  }

  static final int SIZE = 80;

  private static final int TYPE = 0x7242;
  private static final int MAGIC = 0x616e6276;
  private static final int VERSION = 1;

  private static final int KIND_AT = 5;
  private static final int TYPE_AT = 6;
  private static final int MAGIC_AT = 8;
  private static final int VERSION_AT = 12;
  private static final int NONCE_AT = 16;
  private static final int SEQUENCE_AT = 24;
  private static final int NUMBER_AT = 28;
  private static final int COOKIE_AT = 32;
  private static final int MAXIMUM_AT = 36;
  private static final int ADDRESS_AT = 40;

  private final ByteBuffer bytes = ByteBuffer.allocateDirect(SIZE).order(ByteOrder.LITTLE_ENDIAN);

  /** Begins a frame to be sent. */
  RendezvousFrame set(Kind kind, long nonce, int sequence) {
    bytes.clear();
    while (bytes.hasRemaining()) {
      bytes.put((byte) 0);
    }
    bytes.putInt(0, SIZE).put(KIND_AT, (byte) kind.ordinal()).putShort(TYPE_AT, (short) TYPE);
    bytes.putInt(MAGIC_AT, MAGIC).putInt(VERSION_AT, VERSION);
    bytes.putLong(NONCE_AT, nonce).putInt(SEQUENCE_AT, sequence);
    return this;
  }

  RendezvousFrame number(int queuePairNumber) {
    bytes.putInt(NUMBER_AT, queuePairNumber);
    return this;
  }

  RendezvousFrame offer(int cookie, int maximum, QueuePairAddress address) {
    bytes.putInt(COOKIE_AT, cookie).putInt(MAXIMUM_AT, maximum);
    bytes.put(ADDRESS_AT, address.toBytes());
    return this;
  }

  /** Returns the frame, to be sent. */
  ByteBuffer bytes() {
    return bytes.clear();
  }

  /** Sends the frame by UDP, which may lose what it is given. */
  void send(DatagramChannel socket, InetSocketAddress to) {
    try {
      socket.send(bytes(), to);
    } catch (IOException | AlreadyConnectedException e) {
      Log.LOGGER.log(Level.DEBUG, () -> kind() + " was not sent to " + to, e);
    }
  }

  /** Returns whether a received frame has the type of the rendezvous, whatever else is in it. */
  static boolean isType(ByteBuffer received, int offset, int length) {
    return length > TYPE_AT + 1
        && received.get(offset + TYPE_AT) == (byte) TYPE
        && received.get(offset + TYPE_AT + 1) == (byte) (TYPE >>> Byte.SIZE);
  }

  /** Takes over a received frame, and returns whether it is one that this version understands. */
  boolean read(ByteBuffer received, int offset, int length) {
    if (length != SIZE) {
      return false;
    }
    bytes.put(0, received, offset, SIZE);
    return bytes.getInt(0) == SIZE
        && bytes.getShort(TYPE_AT) == TYPE
        && bytes.getInt(MAGIC_AT) == MAGIC
        && bytes.getInt(VERSION_AT) == VERSION
        && Byte.toUnsignedInt(bytes.get(KIND_AT)) < Kind.ALL.length;
  }

  Kind kind() {
    return Kind.ALL[bytes.get(KIND_AT)];
  }

  long nonce() {
    return bytes.getLong(NONCE_AT);
  }

  int sequence() {
    return bytes.getInt(SEQUENCE_AT);
  }

  int number() {
    return bytes.getInt(NUMBER_AT);
  }

  /**
   * Returns what the sender of a WELCOME offers.
   *
   * @throws IllegalArgumentException if it is no address of a queue pair
   */
  Offer offer() {
    byte[] address = new byte[QueuePairAddress.SIZE];
    bytes.get(ADDRESS_AT, address);
    return new Offer(
        QueuePairAddress.fromBytes(address), bytes.getInt(COOKIE_AT), bytes.getInt(MAXIMUM_AT));
  }
}
