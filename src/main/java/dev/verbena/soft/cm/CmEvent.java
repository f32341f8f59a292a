package dev.verbena.soft.cm;

import dev.verbena.soft.device.SoftPort;
import dev.verbena.soft.wire.CmMessage.Offer;
import dev.verbena.soft.wire.CmMessage.Path;
import org.jspecify.annotations.Nullable;

/**
 * An event of an RDMA CM identifier that is queued on its channel.
 *
 * @param type the number of the event in C
 * @param id the identifier; of a request the one that listens
 * @param status 0, a negated errno, or a reason
 * @param parameters what depends on the type
 */
public record CmEvent(int type, CmId id, int status, Parameters parameters) {
  /** No parameters. */
  static final Parameters NOTHING = new Argument(0);

  /** What depends on the type. */
  public sealed interface Parameters {}

  /** A {@code struct rdma_conn_param}, and the options of enhanced connection establishment. */
  public record Connection(
      byte[] data,
      int responderResources,
      int initiatorDepth,
      boolean flowControl,
      int retryCount,
      int rnrRetryCount,
      boolean sharedQueue,
      int queuePair,
      int vendor,
      int options)
      implements Parameters {
    /** Private data alone. */
    static Connection of(byte[] data) {
      return new Connection(data, 0, 0, false, 0, 0, false, 0, 0, 0);
    }

    /** What the peer offers, from this end's point of view. */
    static Connection of(Offer offer, int retryCount, int options, byte[] data) {
      int depth = offer.responderResources();
      int resources = offer.initiatorDepth();
      return new Connection(
          data,
          resources,
          depth,
          offer.flowControl(),
          retryCount,
          offer.rnrRetryCount(),
          offer.sharedQueue(),
          offer.queuePair(),
          offer.vendor(),
          options);
    }
  }

  /** A {@code struct rdma_ud_param}; without a port, its private data alone. */
  public record Service(
      byte[] data, @Nullable SoftPort port, @Nullable Path path, int queuePair, int queueKey)
      implements Parameters {
    /** Private data alone. */
    static Service of(byte[] data) {
      return new Service(data, null, null, 0, 0);
    }
  }

  /** A request: the identifier that it made, and what it asks for. */
  public record Request(CmId made, Parameters parameters) implements Parameters {}

  /** A group that was joined, or could not be. */
  public record Group(CmMembership membership, Service service) implements Parameters {}

  /** A number of the program's. */
  public record Argument(long value) implements Parameters {}
}
