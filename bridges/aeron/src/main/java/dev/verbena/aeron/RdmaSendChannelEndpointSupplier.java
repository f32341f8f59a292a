package dev.verbena.aeron;

import io.aeron.driver.MediaDriver;
import io.aeron.driver.SendChannelEndpointSupplier;
import io.aeron.driver.media.SendChannelEndpoint;
import io.aeron.driver.media.UdpChannel;
import org.agrona.concurrent.status.AtomicCounter;

/**
 * Supplies endpoints of publications that send by RDMA: {@code
 * -Daeron.SendChannelEndpoint.supplier=dev.verbena.aeron.RdmaSendChannelEndpointSupplier}, together
 * with {@link RdmaReceiveChannelEndpointSupplier}. Each driver has suppliers of its own.
 */
public final class RdmaSendChannelEndpointSupplier implements SendChannelEndpointSupplier {
  /** What a receiver sends: a message in 200 ms, or some after a loss. */
  private static final int RECEIVE_SLOTS = 64;

  private final boolean isPossible = Polling.prepare();
  private final Rules rules = Rules.configured();
  private Side side;

  /**
   * Creates a supplier for one driver, and looks for devices in the background.
   *
   * @throws IllegalArgumentException if a rule is wrong
   */
  public RdmaSendChannelEndpointSupplier() {
    Worker.run(Devices::prepare);
  }

  @Override
  public SendChannelEndpoint newInstance(
      UdpChannel udpChannel, AtomicCounter statusIndicator, MediaDriver.Context context) {
    if (!isPossible) {
      rules.requireUdpAllowed(udpChannel, "sockets are selected");
      return new SendChannelEndpoint(udpChannel, statusIndicator, context);
    }
    if (side == null || side.context() != context) {
      side = Side.of(context, context.senderCachedNanoClock(), "sender", rules, RECEIVE_SLOTS);
    }
    return new RdmaSendChannelEndpoint(udpChannel, statusIndicator, side);
  }
}
