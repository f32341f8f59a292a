package dev.verbena.aeron;

import io.aeron.driver.MediaDriver;
import io.aeron.driver.status.SystemCounterDescriptor;
import io.aeron.exceptions.AeronException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.nio.channels.DatagramChannel;
import java.security.SecureRandom;
import java.util.random.RandomGenerator;
import org.agrona.ErrorHandler;
import org.agrona.concurrent.CachedNanoClock;

/**
 * What the sockets of the sender, or of the receiver, of a driver share.
 *
 * @param context the context of the driver
 * @param clock the time of the sender's or the receiver's duty cycle
 */
record Side(
    MediaDriver.Context context,
    CachedNanoClock clock,
    TransportCounters counters,
    Rules rules,
    RandomGenerator random) {
  /** A window of 128 KiB is so many messages of 256 bytes, or fewer. */
  private static final int RECEIVE_SLOTS = 512;

  static Side ofSender(MediaDriver.Context context, Rules rules) {
    return of(context, context.senderCachedNanoClock(), rules, "sender");
  }

  static Side ofReceiver(MediaDriver.Context context, Rules rules) {
    return of(context, context.receiverCachedNanoClock(), rules, "receiver");
  }

  private static Side of(
      MediaDriver.Context context, CachedNanoClock clock, Rules rules, String agent) {
    return new Side(
        context,
        clock,
        new TransportCounters(context.countersManager(), agent),
        rules,
        new SecureRandom());
  }

  int receiveSlots() {
    return RECEIVE_SLOTS;
  }

  /**
   * Throws an exception if the rule of a socket is rdma-only, and no device has its address.
   *
   * @param peer the address that the rules are asked for; null if it is that of the socket
   */
  void requireDevice(DatagramChannel socket, InetSocketAddress peer) {
    try {
      InetSocketAddress local = (InetSocketAddress) socket.getLocalAddress();
      if (rules.of(peer == null ? local : peer) == Rules.Rule.RDMA_ONLY
          && !local.getAddress().isAnyLocalAddress()) {
        Devices.require(local.getAddress());
      }
    } catch (NoDeviceException e) {
      throw new AeronException("the rule is rdma-only: " + e.getMessage(), e);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Returns a channel that sends and receives by RDMA, too. */
  RdmaChannel wrap(DatagramChannel socket, int receiveSlots) {
    try {
      return new RdmaChannel(socket, this, receiveSlots);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  FrameDispatcher dispatcher() {
    return new FrameDispatcher(
        context.systemCounters().get(SystemCounterDescriptor.BYTES_RECEIVED));
  }

  long now() {
    return clock.nanoTime();
  }

  void report(Throwable event) {
    ErrorHandler handler = context.countedErrorHandler();
    handler.onError(event);
  }
}
