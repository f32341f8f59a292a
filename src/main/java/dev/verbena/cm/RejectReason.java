package dev.verbena.cm;

/** The reason of a rejected connection request: the codes of the InfiniBand specification. */
public enum RejectReason {
  /** No queue pair. */
  NO_QP(1, "the peer has no queue pair left"),
  /** No end-to-end context. */
  NO_EEC(2, "the peer has no end-to-end context left"),
  /** No resources. */
  NO_RESOURCES(3, "the peer has no resources left"),
  /** The exchange took too long. */
  TIMEOUT(4, "the exchange took too long"),
  /** The peer does not support the request. */
  UNSUPPORTED(5, "the peer does not support the request"),
  /** The communication is unknown to the peer. */
  INVALID_COMM_ID(6, "the peer does not know the communication"),
  /** The communication instance is unknown to the peer. */
  INVALID_COMM_INSTANCE(7, "the peer does not know the communication instance"),
  /** No listener. */
  INVALID_SERVICE_ID(8, "no listener on the port"),
  /** The transport types differ. */
  INVALID_TRANSPORT_TYPE(9, "the transport types differ"),
  /** The peer still has state of an earlier connection of the queue pair. */
  STALE_CONN(10, "the peer still has state of an earlier connection of the queue pair: try again"),
  /** No reliable datagram channel. */
  RDC_NOT_EXIST(11, "the reliable datagram channel does not exist"),
  /** A GID that the peer does not accept. */
  INVALID_GID(12, "the peer does not accept the GID"),
  /** A LID that the peer does not accept. */
  INVALID_LID(13, "the peer does not accept the LID"),
  /** A service level that the peer does not accept. */
  INVALID_SL(14, "the peer does not accept the service level"),
  /** A traffic class that the peer does not accept. */
  INVALID_TRAFFIC_CLASS(15, "the peer does not accept the traffic class"),
  /** A hop limit that the peer does not accept. */
  INVALID_HOP_LIMIT(16, "the peer does not accept the hop limit"),
  /** A packet rate that the peer does not accept. */
  INVALID_PACKET_RATE(17, "the peer does not accept the packet rate"),
  /** An alternate GID that the peer does not accept. */
  INVALID_ALT_GID(18, "the peer does not accept the alternate GID"),
  /** An alternate LID that the peer does not accept. */
  INVALID_ALT_LID(19, "the peer does not accept the alternate LID"),
  /** An alternate service level that the peer does not accept. */
  INVALID_ALT_SL(20, "the peer does not accept the alternate service level"),
  /** An alternate traffic class that the peer does not accept. */
  INVALID_ALT_TRAFFIC_CLASS(21, "the peer does not accept the alternate traffic class"),
  /** An alternate hop limit that the peer does not accept. */
  INVALID_ALT_HOP_LIMIT(22, "the peer does not accept the alternate hop limit"),
  /** An alternate packet rate that the peer does not accept. */
  INVALID_ALT_PACKET_RATE(23, "the peer does not accept the alternate packet rate"),
  /** The port and its connection manager have another address. */
  PORT_CM_REDIRECT(24, "the peer's port and connection manager have another address"),
  /** The port has another address. */
  PORT_REDIRECT(25, "the peer's port has another address"),
  /** A path MTU that the peer does not accept. */
  INVALID_MTU(26, "the peer does not accept the path MTU"),
  /** The request has more outstanding reads and atomics than the peer supports. */
  INSUFFICIENT_RESP_RESOURCES(27, "the peer has too few responder resources"),
  /** The program of the peer rejected the request, possibly with private data. */
  CONSUMER_DEFINED(28, "the program of the peer rejected the request"),
  /** An RNR retry count that the peer does not accept. */
  INVALID_RNR_RETRY(29, "the peer does not accept the RNR retry count"),
  /** The communication ID is in use. */
  DUPLICATE_LOCAL_COMM_ID(30, "the communication ID is in use"),
  /** A class version that the peer does not support. */
  INVALID_CLASS_VERSION(31, "the peer does not support the class version"),
  /** A flow label that the peer does not accept. */
  INVALID_FLOW_LABEL(32, "the peer does not accept the flow label"),
  /** An alternate flow label that the peer does not accept. */
  INVALID_ALT_FLOW_LABEL(33, "the peer does not accept the alternate flow label"),
  /** The peer does not support the requested enhanced connection establishment (ECE) options. */
  VENDOR_OPTION_NOT_SUPPORTED(35, "the peer does not support the ECE options"),
  /** A reason that is newer than this library. */
  UNKNOWN(0, "reason unknown to this library");

  private final int code;
  private final String meaning;

  RejectReason(int code, String meaning) {
    this.code = code;
    this.meaning = meaning;
  }

  int code() {
    return code;
  }

  static RejectReason of(int code) {
    for (RejectReason reason : values()) {
      if (reason.code == code) {
        return reason;
      }
    }
    return UNKNOWN;
  }

  /** {@return a short description of the reason, for example {@code no listener on the port}} */
  public String meaning() {
    return meaning;
  }
}
