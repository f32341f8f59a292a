package dev.verbena.disni;

import com.ibm.disni.verbs.IbvCompChannel;
import com.ibm.disni.verbs.IbvContext;
import dev.verbena.verbs.CompletionChannel;
import java.io.IOException;
import java.time.Duration;

/** A completion channel. */
final class BridgeCompChannel extends IbvCompChannel {
  private final CompletionChannel channel;

  BridgeCompChannel(IbvContext context, CompletionChannel channel) throws IOException {
    super(0, context); // DiSNI's provider returns no descriptor either.
    this.channel = channel;
  }

  /** Returns the channel of a call's argument. */
  static BridgeCompChannel of(IbvCompChannel argument) throws IOException {
    BridgeCompChannel own = Failures.own(BridgeCompChannel.class, argument, "completion channel");
    Failures.requireOpen(own.isOpen(), "completion channel");
    return own;
  }

  CompletionChannel channel() {
    return channel;
  }

  /**
   * Waits for the event of any queue of the channel.
   *
   * @param millis as of {@code poll(2)}: negative for no limit
   */
  boolean awaitEvent(int millis) throws IOException {
    return Failures.io(
            () ->
                switch (Integer.signum(millis)) {
                  case -1 -> channel.take();
                  case 0 -> channel.poll();
                  default -> channel.poll(Duration.ofMillis(millis));
                })
        != null;
  }

  /** Destroys it, after its completion queues. */
  int destroy() throws IOException {
    Failures.run(channel::close);
    close();
    return 0;
  }
}
