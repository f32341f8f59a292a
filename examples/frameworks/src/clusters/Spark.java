import java.util.Iterator;
import java.util.List;
import java.util.concurrent.atomic.LongAdder;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.apache.spark.HashPartitioner;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerTaskEnd;
import scala.Tuple2;

/** A driver of Spark, whose two executors shuffle records twice. */
final class Spark {
  private static final int PARTITIONS = 8;
  private static final int RECORDS = 2_000_000;

  public static void main(String[] args) {
    LongAdder fetched = new LongAdder();
    try (JavaSparkContext context = new JavaSparkContext(new SparkConf())) {
      context.setLogLevel("WARN");
      context.sc().addSparkListener(new Fetches(fetched));
      shuffleTwice(context, RECORDS / 10);
      fetched.reset();
      Cost cost = new Cost();
      shuffleTwice(context, RECORDS);
      cost.print(
          "%d records shuffled twice, %.1f MB between the executors"
              .formatted(RECORDS, fetched.sum() / 1e6));
    }
  }

  /** Partitions records by one hash, then by another, and compares their sum. */
  private static void shuffleTwice(JavaSparkContext context, int records) {
    List<Integer> partitions = IntStream.range(0, PARTITIONS).boxed().toList();
    JavaPairRDD<Long, Long> shuffled =
        context
            .parallelize(partitions, PARTITIONS)
            .flatMapToPair(partition -> records(partition, records))
            .partitionBy(new HashPartitioner(PARTITIONS))
            .mapToPair(record -> new Tuple2<>(mix(record._1), record._2))
            .partitionBy(new HashPartitioner(PARTITIONS + 1));
    long sum = shuffled.map(record -> record._1 * record._2).reduce(Long::sum);
    long expected =
        LongStream.range(0, PARTITIONS * (records / PARTITIONS)).map(i -> mix(mix(i)) * i).sum();
    if (sum != expected) {
      throw new AssertionError("other data has arrived");
    }
  }

  private static Iterator<Tuple2<Long, Long>> records(int partition, int records) {
    long count = records / PARTITIONS;
    return LongStream.range(partition * count, (partition + 1) * count)
        .mapToObj(i -> new Tuple2<>(mix(i), i))
        .iterator();
  }

  private static long mix(long i) {
    long mixed = (i ^ i >>> 31) * 0x9e3779b97f4a7c15L;
    return mixed ^ mixed >>> 29;
  }

  /** Counts the bytes that executors fetch from each other. */
  private static final class Fetches extends SparkListener {
    private final LongAdder bytes;

    Fetches(LongAdder bytes) {
      this.bytes = bytes;
    }

    @Override
    public void onTaskEnd(SparkListenerTaskEnd end) {
      bytes.add(end.taskMetrics().shuffleReadMetrics().remoteBytesRead());
    }
  }
}
