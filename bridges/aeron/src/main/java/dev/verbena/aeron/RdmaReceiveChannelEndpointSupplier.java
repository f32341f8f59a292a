package dev.verbena.aeron;

import io.aeron.driver.DataPacketDispatcher;
import io.aeron.driver.MediaDriver;
import io.aeron.driver.ReceiveChannelEndpointSupplier;
import io.aeron.driver.media.ReceiveChannelEndpoint;
import io.aeron.driver.media.UdpChannel;
import org.agrona.concurrent.status.AtomicCounter;

/**
 * Supplies endpoints of subscriptions that receive by RDMA: {@code
 * -Daeron.ReceiveChannelEndpoint.supplier=dev.verbena.aeron.RdmaReceiveChannelEndpointSupplier},
 * together with {@link RdmaSendChannelEndpointSupplier}. Each driver has suppliers of its own.
 */
public final class RdmaReceiveChannelEndpointSupplier implements ReceiveChannelEndpointSupplier {
  /** A window of 128 KiB is so many messages of 256 bytes, or fewer. */
  private static final int RECEIVE_SLOTS = 512;

  private final boolean isPossible = Polling.prepare();
  private final Rules rules = Rules.configured();
  private Side side;

  /**
   * Creates a supplier for one driver, and looks for devices in the background.
   *
   * @throws IllegalArgumentException if a rule is wrong
   */
  public RdmaReceiveChannelEndpointSupplier() {
    Worker.run(Devices::prepare);
  }

  @Override
  public ReceiveChannelEndpoint newInstance(
      UdpChannel udpChannel,
      DataPacketDispatcher dispatcher,
      AtomicCounter statusIndicator,
      MediaDriver.Context context) {
    if (!isPossible) {
      rules.requireUdpAllowed(udpChannel, "sockets are selected");
      return new ReceiveChannelEndpoint(udpChannel, dispatcher, statusIndicator, context);
    }
    if (side == null || side.context() != context) {
      side = Side.of(context, context.receiverCachedNanoClock(), "receiver", rules, RECEIVE_SLOTS);
      context.receiverPortManager(new RulePorts(context.receiverPortManager(), rules));
    }
    return new RdmaReceiveChannelEndpoint(udpChannel, dispatcher, statusIndicator, side);
  }
}
