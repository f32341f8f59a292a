package dev.verbena.sockets;

/**
 * The sizes of a connection, which take effect when its queue pair is created.
 *
 * @param sends the number of send requests
 * @param receives the number of receive requests
 * @param inline the maximum size of data that is sent inline
 * @param areas the number of areas that the peer can map
 * @param sendBuffer the bytes of the send buffer
 * @param receiveBuffer the bytes of the receive buffer
 */
record Sizes(int sends, int receives, int inline, int areas, int sendBuffer, int receiveBuffer) {
  /** The sizes of librdmacm. */
  static final Sizes DEFAULT = new Sizes(384, 384, 64, 0, 1 << 17, 1 << 17);

  /** The control messages that may be outstanding: {@code RS_QP_CTRL_SIZE}. */
  static final int CONTROL_MESSAGES = 4;

  /** The least number of requests of a queue. */
  static final int LEAST_REQUESTS = 16;

  /** The largest number of requests of a queue. */
  static final int MOST_REQUESTS = 0xfffe;

  /** The same sizes, within those of a device. */
  Sizes within(int requests) {
    int most = Math.min(requests, MOST_REQUESTS);
    return new Sizes(
        Math.min(sends, most),
        Math.min(receives, most - CONTROL_MESSAGES),
        inline,
        areas,
        sendBuffer,
        receiveBuffer);
  }
}
