package dev.verbena.soft.wire;

/**
 * A message of the communication manager (CM), with the fields that the InfiniBand specification
 * gives it. Private data is as long as the message has room for, padded with zeros.
 */
public sealed interface CmMessage {
  /** The length of a message without the header of the management datagram. */
  int LENGTH = 232;

  /** A message about a connection: both ends have given it a number. */
  sealed interface OfConnection extends CmMessage {
    /** The number of the sender; 0 if it has given none. */
    int id();

    /** The number of the receiver; 0 if the sender does not know it. */
    int peerId();
  }

  /** What one end offers: part of a request and of its reply. */
  record Offer(
      long guid,
      int queuePair,
      int startingPsn,
      int responderResources,
      int initiatorDepth,
      boolean flowControl,
      int rnrRetryCount,
      boolean sharedQueue,
      int vendor) {}

  /** The path that a request proposes, from its sender's point of view. */
  record Path(
      Gids source,
      Gids destination,
      int flowLabel,
      int trafficClass,
      int hopLimit,
      int serviceLevel,
      int ackTimeout) {
    /** The same path from the point of view of its other end. */
    public Path reversed() {
      Gids own = destination;
      Gids peers = source;
      return new Path(own, peers, flowLabel, trafficClass, hopLimit, serviceLevel, ackTimeout);
    }

    public Path withAckTimeout(int timeout) {
      return new Path(
          source, destination, flowLabel, trafficClass, hopLimit, serviceLevel, timeout);
    }
  }

  /** REQ: asks for a connection. */
  record Req(
      int id,
      long service,
      Offer offer,
      int transport,
      int remoteTimeout,
      int localTimeout,
      int retryCount,
      int maxRetries,
      int mtu,
      Path path,
      byte[] data)
      implements CmMessage {
    public static final int DATA = 92;
  }

  /** REP: accepts a request. */
  record Rep(int id, int peerId, int queueKey, int ackDelay, Offer offer, byte[] data)
      implements OfConnection {
    public static final int DATA = 196;
  }

  /** RTU: ready to use, answers a REP. */
  record Rtu(int id, int peerId) implements OfConnection {}

  /** REJ: rejects a REQ (0), a REP (1), or neither (2). */
  record Rej(int id, int peerId, int rejected, int reason, byte[] info, byte[] data)
      implements OfConnection {
    static final int INFO = 72;
    public static final int DATA = 148;
  }

  /** MRA: announces that the answer to a REQ (0) or a REP (1) takes longer. */
  record Mra(int id, int peerId, int received, int serviceTimeout) implements OfConnection {}

  /** DREQ: asks to end a connection. */
  record Dreq(int id, int peerId, int queuePair) implements OfConnection {}

  /** DREP: answers a DREQ. */
  record Drep(int id, int peerId) implements OfConnection {}

  /** SIDR REQ: asks for the queue pair of a datagram service. */
  record SidrReq(int id, long service, byte[] data) implements CmMessage {
    public static final int DATA = 216;
  }

  /** SIDR REP: names the queue pair, or says why there is none. */
  record SidrRep(int id, int status, int queuePair, long service, int queueKey, byte[] data)
      implements CmMessage {
    public static final int DATA = 136;
  }
}
