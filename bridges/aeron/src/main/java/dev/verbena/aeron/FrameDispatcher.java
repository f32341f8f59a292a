package dev.verbena.aeron;

import io.aeron.driver.media.ReceiveChannelEndpoint;
import io.aeron.logbuffer.FrameDescriptor;
import io.aeron.protocol.DataHeaderFlyweight;
import io.aeron.protocol.HeaderFlyweight;
import io.aeron.protocol.RttMeasurementFlyweight;
import io.aeron.protocol.SetupFlyweight;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import org.agrona.concurrent.UnsafeBuffer;
import org.agrona.concurrent.status.AtomicCounter;

/** Hands a received frame to Aeron, as the driver's {@code DataTransportPoller} does. */
final class FrameDispatcher {
  /** Sockets with several transports do not use it: their frames have another index. */
  private static final int TRANSPORT = 0;

  private final AtomicCounter bytesReceived;

  /** The poller's buffer, of which there is one, and what it is viewed as. */
  private ByteBuffer viewed;

  private UnsafeBuffer frame;
  private DataHeaderFlyweight data;
  private SetupFlyweight setup;
  private RttMeasurementFlyweight measurement;

  FrameDispatcher(AtomicCounter bytesReceived) {
    this.bytesReceived = bytesReceived;
  }

  /** Handles the frame from the beginning of a buffer to its position. */
  void dispatch(ReceiveChannelEndpoint endpoint, ByteBuffer buffer, InetSocketAddress from) {
    view(buffer);
    int length = buffer.position();
    bytesReceived.getAndAddRelease(length);
    if (!endpoint.isValidFrame(frame, length)) {
      return;
    }
    endpoint.receiveHook(frame, length, from);
    switch (FrameDescriptor.frameType(frame, 0)) {
      case HeaderFlyweight.HDR_TYPE_DATA, HeaderFlyweight.HDR_TYPE_PAD -> {
        int _ = endpoint.onDataPacket(data, frame, length, from, TRANSPORT);
      }
      case HeaderFlyweight.HDR_TYPE_SETUP ->
          endpoint.onSetupMessage(setup, frame, length, from, TRANSPORT);
      case HeaderFlyweight.HDR_TYPE_RTTM ->
          endpoint.onRttMeasurement(measurement, frame, length, from, TRANSPORT);
      default -> {} // A frame that a receiver does not know, as to the poller.
    }
  }

  private void view(ByteBuffer buffer) {
    if (viewed != buffer) {
      viewed = buffer;
      frame = new UnsafeBuffer(buffer);
      data = new DataHeaderFlyweight(frame);
      setup = new SetupFlyweight(frame);
      measurement = new RttMeasurementFlyweight(frame);
    }
  }
}
