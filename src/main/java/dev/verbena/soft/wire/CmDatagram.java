package dev.verbena.soft.wire;

import dev.verbena.internal.foreign.Memory;
import dev.verbena.soft.wire.CmMessage.Drep;
import dev.verbena.soft.wire.CmMessage.Dreq;
import dev.verbena.soft.wire.CmMessage.Mra;
import dev.verbena.soft.wire.CmMessage.Offer;
import dev.verbena.soft.wire.CmMessage.Path;
import dev.verbena.soft.wire.CmMessage.Rej;
import dev.verbena.soft.wire.CmMessage.Rep;
import dev.verbena.soft.wire.CmMessage.Req;
import dev.verbena.soft.wire.CmMessage.Rtu;
import dev.verbena.soft.wire.CmMessage.SidrRep;
import dev.verbena.soft.wire.CmMessage.SidrReq;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;

/**
 * A management datagram (MAD) of the communication manager: a transaction, the attribute modifier,
 * which holds the options of enhanced connection establishment (ECE), and a message.
 */
public record CmDatagram(long transaction, int modifier, CmMessage message) {
  private static final int HEADER = ManagementDatagram.LENGTH - CmMessage.LENGTH;
  private static final int VERSION = 1;
  private static final int CLASS = 7;
  private static final int CLASS_VERSION = 2;
  private static final int SEND = 3;
  private static final short NO_LID = -1;
  private static final short DEFAULT_PKEY = -1;

  private static final int REQ = 0x10;
  private static final int MRA = 0x11;
  private static final int REJ = 0x12;
  private static final int REP = 0x13;
  private static final int RTU = 0x14;
  private static final int DREQ = 0x15;
  private static final int DREP = 0x16;
  private static final int SIDR_REQ = 0x17;
  private static final int SIDR_REP = 0x18;

  /** The bytes, as they are sent. */
  public void write(long address) {
    ByteBuffer datagram = ByteBuffer.allocate(ManagementDatagram.LENGTH);
    ByteBuffer body = datagram.slice(HEADER, CmMessage.LENGTH);
    datagram
        .put(0, (byte) VERSION)
        .put(1, (byte) CLASS)
        .put(2, (byte) CLASS_VERSION)
        .put(3, (byte) SEND)
        .putLong(8, transaction)
        .putShort(16, (short) writeMessage(body))
        .putInt(20, modifier);
    Memory.at(address, ManagementDatagram.LENGTH).copyFrom(MemorySegment.ofArray(datagram.array()));
  }

  private int writeMessage(ByteBuffer to) {
    return switch (message) {
      case Req req -> write(req, to);
      case Rep rep -> write(rep, to);
      case Rtu rtu -> write(RTU, rtu.id(), rtu.peerId(), to);
      case Drep drep -> write(DREP, drep.id(), drep.peerId(), to);
      case Dreq dreq -> {
        to.putInt(8, dreq.queuePair() << 8);
        yield write(DREQ, dreq.id(), dreq.peerId(), to);
      }
      case Rej rej -> {
        to.put(8, (byte) (rej.rejected() << 6))
            .put(9, (byte) (rej.info().length << 1))
            .putShort(10, (short) rej.reason())
            .put(12, rej.info())
            .put(84, rej.data());
        yield write(REJ, rej.id(), rej.peerId(), to);
      }
      case Mra mra -> {
        to.put(8, (byte) (mra.received() << 6)).put(9, (byte) (mra.serviceTimeout() << 3));
        yield write(MRA, mra.id(), mra.peerId(), to);
      }
      case SidrReq req -> {
        to.putInt(0, req.id()).putShort(4, DEFAULT_PKEY).putLong(8, req.service());
        to.put(16, req.data());
        yield SIDR_REQ;
      }
      case SidrRep rep -> {
        to.putInt(0, rep.id()).put(4, (byte) rep.status()).putInt(8, rep.queuePair() << 8);
        to.putLong(12, rep.service()).putInt(20, rep.queueKey()).put(96, rep.data());
        yield SIDR_REP;
      }
    };
  }

  private static int write(int attribute, int id, int peerId, ByteBuffer to) {
    to.putInt(0, id).putInt(4, peerId);
    return attribute;
  }

  private static int write(Req req, ByteBuffer to) {
    Offer offer = req.offer();
    Path path = req.path();
    to.putInt(0, req.id())
        .putInt(4, offer.vendor() & 0xff_ffff)
        .putLong(8, req.service())
        .putLong(16, offer.guid())
        .putInt(32, offer.queuePair() << 8 | offer.responderResources())
        .putInt(36, offer.initiatorDepth())
        .putInt(40, req.remoteTimeout() << 3 | req.transport() << 1 | (offer.flowControl() ? 1 : 0))
        .putInt(44, offer.startingPsn() << 8 | req.localTimeout() << 3 | req.retryCount())
        .putShort(48, DEFAULT_PKEY)
        .put(50, (byte) (req.mtu() << 4 | offer.rnrRetryCount()))
        .put(51, (byte) (req.maxRetries() << 4 | (offer.sharedQueue() ? 1 << 3 : 0)))
        .putShort(52, NO_LID)
        .putShort(54, NO_LID);
    put(path.source(), to, 56);
    put(path.destination(), to, 72);
    to.putInt(88, path.flowLabel() << 12)
        .put(92, (byte) path.trafficClass())
        .put(93, (byte) path.hopLimit())
        .put(94, (byte) (path.serviceLevel() << 4))
        .put(95, (byte) (path.ackTimeout() << 3))
        .put(140, req.data());
    return REQ;
  }

  private static int write(Rep rep, ByteBuffer to) {
    Offer offer = rep.offer();
    int vendor = offer.vendor();
    to.putInt(8, rep.queueKey())
        .putInt(12, offer.queuePair() << 8 | (vendor >>> 16 & 0xff))
        .put(19, (byte) (vendor >>> 8))
        .putInt(20, offer.startingPsn() << 8 | (vendor & 0xff))
        .put(24, (byte) offer.responderResources())
        .put(25, (byte) offer.initiatorDepth())
        .put(26, (byte) (rep.ackDelay() << 3 | (offer.flowControl() ? 1 : 0)))
        .put(27, (byte) (offer.rnrRetryCount() << 5 | (offer.sharedQueue() ? 1 << 4 : 0)))
        .putLong(28, offer.guid())
        .put(36, rep.data());
    return write(REP, rep.id(), rep.peerId(), to);
  }

  private static void put(Gids gid, ByteBuffer to, int at) {
    to.putLong(at, gid.high()).putLong(at + Long.BYTES, gid.low());
  }

  /** Reads what was received; null if it is not a message of the communication manager. */
  public static @Nullable CmDatagram read(long address) {
    ByteBuffer datagram = ByteBuffer.allocate(ManagementDatagram.LENGTH);
    MemorySegment.ofArray(datagram.array()).copyFrom(Memory.at(address, ManagementDatagram.LENGTH));
    if (datagram.get(0) != VERSION
        || datagram.get(1) != CLASS
        || datagram.get(2) != CLASS_VERSION
        || datagram.get(3) != SEND) {
      return null;
    }
    CmMessage message =
        readMessage(datagram.getShort(16), datagram.slice(HEADER, CmMessage.LENGTH));
    return message == null
        ? null
        : new CmDatagram(datagram.getLong(8), datagram.getInt(20), message);
  }

  private static CmMessage readMessage(int attribute, ByteBuffer from) {
    int id = from.getInt(0);
    int peerId = from.getInt(4);
    return switch (attribute) {
      case REQ -> readReq(from);
      case REP -> readRep(from);
      case RTU -> new Rtu(id, peerId);
      case DREP -> new Drep(id, peerId);
      case DREQ -> new Dreq(id, peerId, from.getInt(8) >>> 8);
      case REJ ->
          new Rej(
              id,
              peerId,
              bits(from, 8, 6, 2),
              Short.toUnsignedInt(from.getShort(10)),
              bytes(from, 12, Math.min(Rej.INFO, bits(from, 9, 1, 7))),
              bytes(from, 84, Rej.DATA));
      case MRA -> new Mra(id, peerId, bits(from, 8, 6, 2), bits(from, 9, 3, 5));
      case SIDR_REQ -> new SidrReq(id, from.getLong(8), bytes(from, 16, SidrReq.DATA));
      case SIDR_REP ->
          new SidrRep(
              id,
              bits(from, 4, 0, 8),
              from.getInt(8) >>> 8,
              from.getLong(12),
              from.getInt(20),
              bytes(from, 96, SidrRep.DATA));
      default -> null;
    };
  }

  private static Req readReq(ByteBuffer from) {
    Offer offer =
        new Offer(
            from.getLong(16),
            from.getInt(32) >>> 8,
            from.getInt(44) >>> 8,
            bits(from, 35, 0, 8),
            bits(from, 39, 0, 8),
            bits(from, 43, 0, 1) != 0,
            bits(from, 50, 0, 3),
            bits(from, 51, 3, 1) != 0,
            from.getInt(4) & 0xff_ffff);
    Path path =
        new Path(
            gid(from, 56),
            gid(from, 72),
            from.getInt(88) >>> 12,
            bits(from, 92, 0, 8),
            bits(from, 93, 0, 8),
            bits(from, 94, 4, 4),
            bits(from, 95, 3, 5));
    return new Req(
        from.getInt(0),
        from.getLong(8),
        offer,
        bits(from, 43, 1, 2),
        bits(from, 43, 3, 5),
        bits(from, 47, 3, 5),
        bits(from, 47, 0, 3),
        bits(from, 51, 4, 4),
        bits(from, 50, 4, 4),
        path,
        bytes(from, 140, Req.DATA));
  }

  private static Rep readRep(ByteBuffer from) {
    int vendor = bits(from, 15, 0, 8) << 16 | bits(from, 19, 0, 8) << 8 | bits(from, 23, 0, 8);
    Offer offer =
        new Offer(
            from.getLong(28),
            from.getInt(12) >>> 8,
            from.getInt(20) >>> 8,
            bits(from, 24, 0, 8),
            bits(from, 25, 0, 8),
            bits(from, 26, 0, 1) != 0,
            bits(from, 27, 5, 3),
            bits(from, 27, 4, 1) != 0,
            vendor);
    return new Rep(
        from.getInt(0),
        from.getInt(4),
        from.getInt(8),
        bits(from, 26, 3, 5),
        offer,
        bytes(from, 36, Rep.DATA));
  }

  /** Some bits of a byte: {@code width} of them, the lowest of which is bit {@code shift}. */
  private static int bits(ByteBuffer from, int at, int shift, int width) {
    return from.get(at) >>> shift & (1 << width) - 1;
  }

  private static byte[] bytes(ByteBuffer from, int at, int length) {
    byte[] bytes = new byte[length];
    from.get(at, bytes);
    return bytes;
  }

  private static Gids gid(ByteBuffer from, int at) {
    return new Gids(from.getLong(at), from.getLong(at + Long.BYTES));
  }
}
