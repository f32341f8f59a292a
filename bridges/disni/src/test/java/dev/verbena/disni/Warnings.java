package dev.verbena.disni;

import com.ibm.disni.verbs.IbvQP;
import java.io.IOException;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;

/** What the provider's logger has about a queue pair. */
final class Warnings extends Handler implements AutoCloseable {
  private static final Logger LOGGER = Logger.getLogger("dev.verbena.disni");

  private final String queuePair;
  private final List<String> texts = new CopyOnWriteArrayList<>();

  Warnings(IbvQP qp) throws IOException {
    queuePair = "queue pair 0x" + Integer.toHexString(qp.getQp_num());
    LOGGER.addHandler(this);
  }

  List<String> texts() {
    return texts;
  }

  @Override
  public void publish(LogRecord record) {
    if (record.getMessage().contains(queuePair)) {
      texts.add(record.getMessage());
    }
  }

  @Override
  public void flush() {}

  @Override
  public void close() {
    LOGGER.removeHandler(this);
  }
}
