package dev.verbena.aeron;

import io.aeron.driver.MediaDriver;
import io.aeron.logbuffer.FrameDescriptor;
import java.util.OptionalInt;

/**
 * Configures a media driver in code.
 *
 * {@snippet :
 * MediaDriver.Context context = RdmaTransport.configure(new MediaDriver.Context());
 * try (MediaDriver driver = MediaDriver.launch(context)) {
 *   ...
 * }
 * }
 */
public final class RdmaTransport {
  private RdmaTransport() {}

  /** Returns the largest MTU of Aeron for messages of a length: a multiple of the alignment. */
  static int mtu(int message) {
    return message / FrameDescriptor.FRAME_ALIGNMENT * FrameDescriptor.FRAME_ALIGNMENT;
  }

  /**
   * Sets the suppliers of endpoints, and lowers the MTU of the context to what an RDMA message of
   * the devices of this host holds. Publications with a longer one stay on UDP. Takes a second the
   * first time, in which the devices are opened.
   *
   * @param context a context that is not concluded
   * @return the context
   */
  public static MediaDriver.Context configure(MediaDriver.Context context) {
    OptionalInt smallest = Devices.smallestMtu();
    if (smallest.isPresent()) {
      context.mtuLength(Math.min(context.mtuLength(), mtu(smallest.getAsInt())));
    }
    return context
        .sendChannelEndpointSupplier(new RdmaSendChannelEndpointSupplier())
        .receiveChannelEndpointSupplier(new RdmaReceiveChannelEndpointSupplier());
  }
}
